"""What an agent did of its tasks. Probes and checks decide first; a model sees the rest and decides only that.

The model is shown the records, what was measured, the artifacts and the reply, all as data: never the reply alone.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from earnest.accountability.asking import AskedTask
from earnest.accountability.heartbeat import Heartbeat
from earnest.accountability.verdicts import TaskVerdict
from earnest.contracts.criterion import CRITERION_CHARACTERS_MAX, CheckSpec, Criterion
from earnest.effects.ground.threads import in_thread
from earnest.effects.hands.scratch import scratch_beside
from earnest.effects.hands.workspace.snapshot import SnapshotLimits, take_snapshot
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.foundation.canonical import JsonValue, canonical_bytes
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.names import is_slug
from earnest.runtime.probing import PROBE, told
from earnest.verification.intake import FILE_NAME, FORMAT, Taken, taken_of
from earnest.verification.plugin import Promise, Subject
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, CriterionVerdict

REPLY: Final = "reply.md"
RECORDS: Final = "records.txt"
MEASURED: Final = "ground-truth.txt"
ARTIFACTS: Final = "artifacts"
REASON_CHARACTERS_MAX: Final = 2_000
REASONS_CHARACTERS_MAX: Final = 200_000
"""Of all tasks of a heartbeat: its verdicts must find room in one fact."""

TOGETHER_MAX: Final = 25
"""Criteria of one verdict: what a person is asked about one of them names all the others."""

SILENCED: Final = "the judge saw what was measured, and its reason is the operator's to read"
JUDGE: Final = "llm_judge"


Findings: TypeAlias = dict[str, TaskVerdict]
"""By task."""
LayOut: TypeAlias = Callable[[Path], None]
"""Writes into an empty folder what is judged. Raises `OSError`, `Broken`, `Unavailable`: our own failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """Criteria that are decided together. `asked`: the tasks of the heartbeat; criterion `T<n>` is about the n-th."""

    criteria: tuple[Criterion, ...]
    asked: Sequence[AskedTask]
    promise: Promise

    @property
    def tasks(self) -> list[AskedTask]:
        """Those that it is about, in the order of its criteria."""
        return [self.asked[int(one.id.removeprefix("T")) - 1] for one in self.criteria]


class Sidecar:
    """Judges heartbeats. `artifacts` is where their files lie."""

    def __init__(self, verifier: Verifier, artifacts: ArtifactStore) -> None:
        self._verifier = verifier
        self._artifacts = artifacts

    async def verdicts(self, heartbeat: Heartbeat, all_asked: Sequence[AskedTask], worker_model: str) -> Findings:
        """One for each task of `all_asked`, the heartbeat's, that can be judged.

        What our side cannot do is unclear, and costs nobody anything. A probe measures the world: nothing that was
        handed in is laid out for it but what is claimed to be so. What it measured is for the operator, and so are the
        words of a judge who was shown it.
        """
        asked = [one for one in all_asked if not one.weakened]
        promise = Promise(text=_promise(asked), origin=heartbeat.id, worker_model=worker_model)
        probed, checked, judged = (
            _Question(criteria=tuple(criteria), asked=asked, promise=promise)
            for criteria in self._criteria(asked, _paths(heartbeat))
        )
        claims = partial(_lay_out_claims, heartbeat, asked)
        found = await self._answered(probed, claims)
        work = partial(self._lay_out, heartbeat, claims)
        found |= await self._answered(checked, work)
        measured = ((task, one.for_operator or one.reason) for task, one in found.items())
        truth = "Measured beside it:\n" + "".join(f"{task}: {reason}\n" for task, reason in measured)
        by_judge = await self._answered(judged, partial(work, truth=truth))
        return found | (by_judge if not probed.criteria else {task: _silenced(one) for task, one in by_judge.items()})

    async def _answered(self, question: _Question, lay_out: LayOut) -> Findings:
        """What is found in a folder of its own, which is there as long as somebody looks."""
        if not question.criteria:
            return {}
        async with scratch_beside("heartbeat") as made:
            try:
                taken = await in_thread(lambda: _laid_out(lay_out, made()))
            except Refused as refused:
                return _all_unclear(question.tasks, Cause.EVIDENCE, str(refused))
            except (OSError, Broken, Unavailable) as error:
                return _all_unclear(question.tasks, Cause.VERIFIER, f"it cannot be laid out: {error}")
            return await self._judge(question, taken)

    async def _judge(self, question: _Question, taken: Taken) -> Findings:
        found: Findings = {}
        for first in range(0, len(question.criteria), TOGETHER_MAX):
            part = question.criteria[first : first + TOGETHER_MAX]
            found |= await self._judge_together(replace(question, criteria=part), taken)
        return found

    async def _judge_together(self, question: _Question, taken: Taken) -> Findings:
        subject = Subject(snapshot=taken.snapshot, promise=question.promise)
        verdict = await self._verifier.judge(question.criteria, subject, taken)
        waits = {review.criterion_id: review.why for review in verdict.reviews}
        characters = min(REASON_CHARACTERS_MAX, REASONS_CHARACTERS_MAX // len(question.asked))
        return {
            task.id: _shortened(_told(task, criterion, found, waits.get(found.id), verdict.flags), characters)
            for task, criterion, found in zip(question.tasks, question.criteria, verdict.criteria, strict=True)
        }

    def _criteria(
        self, asked: Sequence[AskedTask], paths: Sequence[str]
    ) -> tuple[list[Criterion], list[Criterion], list[Criterion]]:
        """What probes decide, what other checks do, and what a model does."""
        probed, checked, judged = list[Criterion](), list[Criterion](), list[Criterion]()
        for number, one in enumerate(asked, start=1):
            text = f"{one.description}{f' (to be told by: {one.verify})' if one.verify else ''}"
            text = text[:CRITERION_CHARACTERS_MAX]
            check = self._named(one.verify, may_probe=one.may_probe)
            group = judged if check is None else probed if check.kind == PROBE else checked
            check = check or CheckSpec(kind=JUDGE, config={"files": [*paths, MEASURED], "criteria": [text]})
            group.append(Criterion(id=f"T{number}", text=text, check=check))
        return probed, checked, judged

    def _named(self, hint: str, *, may_probe: bool) -> CheckSpec | None:
        """The probe or check that a hint names; None: it is words for a judge, as what names no probe is."""
        if may_probe and hint in self._verifier.probe_names:
            return CheckSpec(kind=PROBE, config={"probe": hint})
        named = CheckSpec(kind=hint)
        return named if is_slug(hint) and hint != JUDGE and not self._verifier.check_faults(named) else None

    def _lay_out(self, heartbeat: Heartbeat, claims: LayOut, folder: Path, truth: str = "") -> None:
        """All that was handed in; `truth`: what was measured."""
        claims(folder)
        (folder / REPLY).write_text(heartbeat.reply, encoding="utf-8")
        if records := json.loads(heartbeat.records):
            (folder / RECORDS).write_text("".join(map(_record_text, records)), encoding="utf-8")
        for item in json.loads(heartbeat.artifacts):
            path = folder / ARTIFACTS / item["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._artifacts.read(item["sha256"]))
        if truth:
            (folder / MEASURED).write_text(truth, encoding="utf-8")


def _laid_out(lay_out: LayOut, folder: Path) -> Taken:
    """The folder is ours alone, so it is judged where it lies."""
    lay_out(folder)
    return taken_of(take_snapshot(folder, None, SnapshotLimits()))


def _lay_out_claims(heartbeat: Heartbeat, asked: Sequence[AskedTask], folder: Path) -> None:
    """What is asserted of each task goes where the verifier looks for it."""
    numbers = {one.id: f"T{number}" for number, one in enumerate(asked, start=1)}
    values: dict[str, dict[str, JsonValue]] = {}
    for claim in json.loads(heartbeat.claims):
        if claim["task"] in numbers and claim["values"]:
            values.setdefault(numbers[claim["task"]], {}).update(claim["values"])
    if values:
        (folder / FILE_NAME).write_bytes(canonical_bytes({"format": FORMAT, "assertions": values}))


def _paths(heartbeat: Heartbeat) -> list[str]:
    """Where the judge looks. Names that agents choose are no patterns of ours, so artifacts are all of a folder."""
    present = ((REPLY, True), (RECORDS, heartbeat.records != "[]"), (f"{ARTIFACTS}/**", heartbeat.artifacts != "[]"))
    return [path for path, is_there in present if is_there]


def _told(
    asked: AskedTask, criterion: Criterion, found: CriterionVerdict, why: str | None, flags: Sequence[str]
) -> TaskVerdict:
    """`why`: a person has to decide, and for what reason."""
    waits = why is not None and found.answer is Answer.UNCLEAR
    reason = "; ".join([f"{why}: the operator has to decide", *flags]) if waits else found.reason
    reason, for_operator = told(criterion, found.answer, reason)
    return TaskVerdict(
        task=asked.id,
        answer=found.answer,
        cause=found.cause,
        reason=reason,
        contradiction=found.contradiction,
        evidence=found.evidence,
        waits=waits,
        by=found.check,
        for_operator=for_operator,
    )


def _shortened(one: TaskVerdict, characters: int) -> TaskVerdict:
    if max(len(one.reason), len(one.for_operator)) <= characters:
        return one
    return replace(one, reason=one.reason[:characters], for_operator=one.for_operator[:characters])


def _silenced(one: TaskVerdict) -> TaskVerdict:
    """The verdict of a judge that has seen what a probe measured: its words are for the operator."""
    why = ": the operator has to decide" if one.waits else ""
    return replace(one, reason=f"{SILENCED}{why}", for_operator=one.reason, evidence=())


def _all_unclear(asked: Iterable[AskedTask], cause: Cause, reason: str) -> dict[str, TaskVerdict]:
    return {one.id: TaskVerdict(task=one.id, answer=Answer.UNCLEAR, cause=cause, reason=reason) for one in asked}


def _record_text(record: Mapping[str, Any]) -> str:
    """What a tool did, in words: as JSON its `ok` would look like a verdict."""
    ended = "succeeded" if record["ok"] else "failed"
    return f"{record['tool']} {record.get('target', '')} {ended}\n{record.get('output', '')}\n\n"


def _promise(asked: Sequence[AskedTask]) -> str:
    """What the judge is told in our words: so only tasks that were accepted, whose words are the operator's too."""
    lines = "\n".join(f"- {one.description}" for one in asked if one.is_accepted)
    return f"In one heartbeat an agent was to do these tasks:\n{lines}"
