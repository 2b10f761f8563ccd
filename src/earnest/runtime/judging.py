"""Judging by hand: what is handed in gets a verdict, kept and reached again, and a spec is tried on worthless work."""

import asyncio
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.spec import Acceptance, VerificationSpec, parse_spec
from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.equipped import Equipment
from earnest.effects.hands.scratch import scratch
from earnest.effects.hands.workspace.snapshot import Snapshot, take_snapshot
from earnest.foundation.errors import Diagnostic, Faulty, Refused
from earnest.runtime.source import text_of
from earnest.runtime.verdict_book import KeptVerdict, VerdictBook
from earnest.verification.lint import Complaint, Junk, complaints
from earnest.verification.paths import path_fault, read_beside, texts_of
from earnest.verification.plugin import Check, Promise, Subject, lint_faults
from earnest.verification.registry import Registry
from earnest.verification.replay import Comparison, ReplayAgreement, compared, trust_key, work_key
from earnest.verification.service import Verifier
from earnest.verification.verdict import CriterionVerdict, Verdict

NAME_CHARACTERS_MAX: Final = 1_024
CONTROLS: Final = 8

REVIEWED_BY: Final = {
    Acceptance.BUYER: "proposer_review",
    Acceptance.PROPOSER: "proposer_review",
    Acceptance.HUMAN: "human",
}
"""The check that decides a criterion without one, by who accepts the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedWork:
    """A folder or an archive to be judged by a spec, whose own files lie in `base_folder`. All paths are absolute."""

    spec: VerificationSpec
    base_folder: Path
    work: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVerdict:
    """A verdict, and where it is kept: `id` is empty and `unkept` says why if it is not."""

    verdict: Verdict
    id: str = ""
    unkept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Where a verdict is kept, and by which clock."""

    book: VerdictBook
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A kept verdict beside the one reached now."""

    kept: KeptVerdict
    verdict: Verdict
    comparisons: tuple[Comparison, ...]

    @property
    def disagreeing(self) -> Sequence[str]:
        """The `trust_key`s of checks that answered otherwise."""
        return [each.key for each in self.comparisons if each.agreement is ReplayAgreement.DISAGREES]


def reviewed_criteria(spec: VerificationSpec) -> tuple[Criterion, ...]:
    """The criteria of a spec; those without a check wait for whoever accepts the work."""
    kind = REVIEWED_BY.get(spec.acceptance)
    if kind is None:
        return spec.criteria
    return tuple(one if one.check else replace(one, check=CheckSpec(kind=kind)) for one in spec.criteria)


def read_spec(path: Path, verifier: Verifier) -> VerificationSpec:
    """The spec in a file. Raises `Faulty` with every fault, with file and line."""
    folder = path.absolute().parent
    return parse_spec(text_of(path), str(path), check_faults=lambda check: verifier.check_faults(check, folder))


def submissions(spec: VerificationSpec, base_folder: Path, works: Sequence[Path]) -> tuple[SubmittedWork, ...]:
    """What a spec makes with folders and archives, in order. Raises `Faulty` with every one that is missing."""
    if missing := [work for work in works if not work.exists()]:
        raise Faulty(Diagnostic(source=str(work), line=0, message="no such folder or archive") for work in missing)
    return tuple(SubmittedWork(spec=spec, base_folder=base_folder.absolute(), work=work.absolute()) for work in works)


async def judged(
    verifier: Verifier,
    spec: VerificationSpec,
    spec_folder: Path,
    submission: Path,
    *,
    keep_in: Keeping | None,
    equipment: Equipment | None = None,
) -> RecordedVerdict:
    """Judge a submission, and keep the verdict. What the checks name beside the spec is read once, before."""
    criteria = reviewed_criteria(spec)
    promise = Promise(title=spec.title, text=spec.text, origin=str(submission))
    ids: list[str] = []
    problems: list[str] = []
    with scratch("spec") as folder:
        beside = copied_beside(criteria, spec_folder, folder)

        def keep(snapshot: Snapshot, verdict: Verdict) -> None:
            if keep_in is None:
                return
            at_ms = keep_in.clock.now_ms()
            try:
                kept = keep_in.book.keep(
                    at_ms=at_ms,
                    criteria=criteria,
                    promise=promise,
                    verdict=verdict,
                    snapshot=snapshot,
                    beside=beside,
                    equipment=equipment,
                )
                ids.append(kept)
            except OSError as error:
                problems.append(str(error))

        verdict = await verifier.equipped(equipment).verify(
            criteria,
            submission,
            base_folder=beside.folder,
            promise=promise,
            hidden=_hidden(spec_folder, beside),
            keep=keep,
        )
    return RecordedVerdict(verdict=verdict, id="".join(ids), unkept="".join(problems))


async def replayed(verifier: Verifier, registry: Registry, book: VerdictBook, name: str) -> Replayed:
    """Judge again what a kept verdict was about. A check that disagrees with itself is distrusted from then on.

    One that runs code may have met work that answers by chance: it is distrusted over that work, and as a whole only
    once it also disagrees with itself over the work of somebody else: the last `CONTROLS` of it are judged again too.
    """
    found = await _again(verifier, registry, book, book.find(name))
    for key in found.disagreeing:
        checks = [_check(registry, criterion) for criterion in found.kept.criteria if _key(registry, criterion) == key]
        if not all(check and check.runs_code for check in checks):
            book.distrust(key, found.kept.id)
            continue
        book.distrust(work_key(key, found.verdict.snapshot), found.kept.id)
        if await _disagrees_elsewhere(verifier, registry, book, found.kept, key):
            book.distrust(key, found.kept.id)
    return found


async def _again(verifier: Verifier, registry: Registry, book: VerdictBook, kept: KeptVerdict) -> Replayed:
    """A kept verdict beside the one reached now."""
    with scratch("replay") as folder:
        work, beside = book.restore(kept, folder)
        subject = Subject(snapshot=work, base_folder=beside.folder, promise=kept.promise)
        if kept.equipment is not None:
            kept.equipment.check()
        verdict = await verifier.equipped(kept.equipment).judge(kept.criteria, subject)
    checks = [_check(registry, criterion) for criterion in kept.criteria]
    same_place = kept.sandbox == verdict.sandbox
    comparisons = tuple(compared(kept.criteria, checks, kept.answers, verdict.criteria, same_place=same_place))
    return Replayed(kept=kept, verdict=verdict, comparisons=comparisons)


async def _disagrees_elsewhere(
    verifier: Verifier, registry: Registry, book: VerdictBook, kept: KeptVerdict, key: str
) -> bool:
    """True if the check disagreed, or does so now, with itself over what somebody else handed in."""
    others = (each for each in book.others(kept) if key in {_key(registry, criterion) for criterion in each.criteria})
    known = book.distrusted()
    for other in itertools.islice(others, CONTROLS):
        if work_key(key, other.snapshot) in known:
            return True
        with contextlib.suppress(Refused):  # its work is no longer kept
            if key in (await _again(verifier, registry, book, other)).disagreeing:
                book.distrust(work_key(key, other.snapshot), other.id)
                return True
    return False


async def linted(verifier: Verifier, registry: Registry, spec: VerificationSpec, spec_path: Path) -> list[Complaint]:
    """Everything that lets worthless work pass, and what nobody can try."""

    async def judge(criterion: Criterion, junk: Junk) -> CriterionVerdict:
        with scratch("junk") as folder:
            for name, data in junk.files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            verdict = await verifier.verify([criterion], Path(folder), base_folder=spec_path.parent)
        return verdict.criteria[0]

    pairs = [(criterion, _check(registry, criterion)) for criterion in spec.criteria]
    spec_text = await asyncio.to_thread(spec_path.read_bytes)
    return [*_config_complaints(pairs, spec_path.parent), *await complaints(pairs, spec_text, judge)]


def _hidden(spec_folder: Path, beside: Snapshot) -> list[Path]:
    """What no submission may read: the folder as a whole, and by name what matters in it if it cannot be hidden."""
    return [spec_folder, *spec_folder.glob("*.y*ml"), *(spec_folder / entry.path for entry in beside.entries)]


def copied_beside(criteria: Sequence[Criterion], base_folder: Path, scratch: Path) -> Snapshot:
    """A copy of every file below `base_folder` that a check's config names: nobody changes it while work is judged."""
    source = scratch / "named"
    source.mkdir()
    for name in {text for one in criteria if one.check for text in texts_of(one.check.config)}:
        if len(name) > NAME_CHARACTERS_MAX or path_fault(name) is not None or not name.isprintable():
            continue
        try:
            data = read_beside(base_folder, name)
        except (Refused, OSError):
            continue  # not the name of a file: if it should be one, its check says so
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    return take_snapshot(source, scratch / "beside")


def _config_complaints(pairs: Sequence[tuple[Criterion, Check | None]], base_folder: Path) -> Iterator[Complaint]:
    """What kinds say about their own configs."""
    for criterion, check in pairs:
        if criterion.check is not None and check is not None:
            for path, message, is_grave in lint_faults(check, criterion.check.config, base_folder):
                line = criterion.check.line_of(path)
                yield Complaint(criterion=criterion.id, message=message, line=line, is_grave=is_grave)


def _key(registry: Registry, criterion: Criterion) -> str:
    check = _check(registry, criterion)
    return trust_key(check, criterion.check) if check and criterion.check else ""


def _check(registry: Registry, criterion: Criterion) -> Check | None:
    return registry.check(criterion.check.kind) if criterion.check is not None else None
