"""The story of a sweep: files and artifacts that nobody needs any more go, beside whoever uses the data directory.

The facts stay. A thing loses its name first, in one step, so that it is there or gone, never half.
"""

import contextlib
import fcntl
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from earnest.effects.ground.backup.walking import walk
from earnest.effects.ground.clock import first_id
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.hands.workspace.tree import Trash
from earnest.engine.facts import FINISHED, STARTED
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import DAY_MS
from earnest.market.claims.evidence import Artifact
from earnest.market.service import ARTIFACTS
from earnest.runtime.edits.applying import MARKERS
from earnest.runtime.edits.change import ABANDONED, APPLIED, APPLYING
from earnest.runtime.edits.taking import TAKEN
from earnest.runtime.task_run import RUNS_FOLDER
from earnest.runtime.telling import marker_of, needed_runs
from earnest.runtime.verdict_book import VerdictBook

TRASH: Final = "trash"
STAGES: Final = "stages"
_TELLING: Final = (STARTED, FINISHED, TAKEN, APPLYING, APPLIED, ABANDONED)

ARTIFACTS_AT_ONCE: Final = 100
"""So many end in one transaction, so that others come between."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_USES: Final = """
SELECT s.manifest FROM submissions s JOIN claims c ON c.id = s.claim_id
WHERE c.ended_at_ms IS NULL OR c.ended_at_ms > :since
UNION ALL SELECT s.manifest FROM submissions s JOIN disputes d ON d.claim_id = s.claim_id
WHERE d.closed_at_ms IS NULL OR d.closed_at_ms > :since
UNION ALL SELECT s.evidence FROM statements s JOIN disputes d ON d.id = s.dispute_id
WHERE d.closed_at_ms IS NULL OR d.closed_at_ms > :since
UNION ALL SELECT files FROM jobs WHERE ended_at_ms IS NULL OR ended_at_ms > :since
UNION ALL SELECT j.files FROM jobs j JOIN claims c ON c.job_id = j.id
WHERE c.ended_at_ms IS NULL OR c.ended_at_ms > :since
UNION ALL SELECT j.files FROM jobs j JOIN claims c ON c.job_id = j.id JOIN disputes d ON d.claim_id = c.id
WHERE d.closed_at_ms IS NULL OR d.closed_at_ms > :since
UNION ALL SELECT artifacts FROM heartbeats WHERE judged_at_ms IS NULL OR waiting > 0 OR judged_at_ms > :since
"""
"""Texts with the digests of what goes on, or ended since: so long receipts are judged again and rulings appealed."""


class Fate(StrEnum):
    """What becomes of a run's files: why they stay, or what of them goes."""

    UNKNOWN = "unknown"
    """No fact speaks of them."""
    WAITS = "waits"
    """It has no end yet."""
    NEEDED = "needed"
    """A run that waits goes on from its files."""
    UNTOLD = "untold"
    """Nobody was told of its end."""
    UNAPPLIED = "unapplied"
    """It was given files to edit, and what became of them was not applied."""
    APPLYING = "applying"
    """Its change is being put in the place of the user's files."""
    YOUNG = "young"
    STAGES = "stages"
    """Its checkpoints go."""
    WHOLE = "whole"
    """All of its files go."""


GOING: Final = frozenset({Fate.STAGES, Fate.WHOLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """For how many days after its last fact something is kept."""

    runs_days: int = 90
    stages_days: int = 7
    verdicts_days: int = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """What is known of a run whose files are there. `last_ms` is that of its newest fact, None without one."""

    last_ms: int | None
    has_end: bool
    is_needed: bool
    is_told: bool
    has_edits: bool
    is_applied: bool
    is_applying: bool
    has_stages: bool


def fate_of(run: RunFiles, retention: Retention, now_ms: int) -> Fate:
    """The first that fits, strictest first."""
    held = (
        (run.last_ms is None, Fate.UNKNOWN),
        (not run.has_end, Fate.WAITS),
        (run.is_needed, Fate.NEEDED),
        (not run.is_told, Fate.UNTOLD),
        (run.is_applying, Fate.APPLYING),
        (run.has_edits and not run.is_applied, Fate.UNAPPLIED),
    )
    if (fate := next((fate for holds, fate in held if holds), None)) is not None:
        return fate
    age_ms = now_ms - (run.last_ms or 0)
    if age_ms >= retention.runs_days * DAY_MS:
        return Fate.WHOLE
    # A change is told and taken back by the checkpoint at which the run began.
    if run.has_stages and not run.has_edits and age_ms >= retention.stages_days * DAY_MS:
        return Fate.STAGES
    return Fate.YOUNG


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What went, or would go: ids of runs whose files, of runs whose checkpoints, and of verdicts that went.

    `kept` counts by reason the runs whose files stay. `artifacts` (ids) ended, `audit_files` of the audit log went.
    """

    runs: tuple[str, ...]
    stages: tuple[str, ...]
    verdicts: tuple[str, ...]
    freed_bytes: int
    kept: Mapping[Fate, int]
    artifacts: tuple[str, ...] = ()
    audit_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is to be swept. `dry`: only say what would go."""

    home: Path
    retention: Retention
    verdicts: VerdictBook
    dry: bool = False

    def run(self, books: ReadPool, now_ms: int, tell: Callable[[str], None] = lambda _: None) -> Swept:
        """Sweep. Raises `Unavailable` while another process does; `OSError` where the disk takes no change."""
        with self._trash() as trash:
            runs = self.home / RUNS_FOLDER
            names = _folders(runs)
            due = books.read_sync(partial(self._due, names=names, now_ms=now_ms))
            needed = books.read_sync(partial(needed_runs, runs_folder=runs)) if due else frozenset[str]()
            fates: dict[str, Fate] = {}
            freed_bytes = 0
            for name in due:
                tell(f"{len(fates)} of {len(due)} runs")
                folder = runs / name
                fate = books.read_sync(partial(self._fate, folder=folder, needed=needed, now_ms=now_ms))
                fates[name] = fate
                if fate in GOING:
                    freed_bytes += _take(folder / STAGES if fate is Fate.STAGES else folder, trash)
            verdicts, size_bytes = self.verdicts.forget(now_ms - self.retention.verdicts_days * DAY_MS, dry=self.dry)
        kept = Counter(fate for fate in fates.values() if fate is not Fate.WHOLE)
        return Swept(
            runs=tuple(run for run, fate in fates.items() if fate is Fate.WHOLE),
            stages=tuple(run for run, fate in fates.items() if fate is Fate.STAGES),
            verdicts=verdicts,
            freed_bytes=freed_bytes + size_bytes,
            kept=kept + Counter({Fate.YOUNG: len(names) - len(due)}),
        )

    def _due(self, reader: BooksReader, names: list[str], now_ms: int) -> list[str]:
        """Those that may be old enough, by the instant in a run's id. The books are asked about no others."""
        old, rested = (
            f"run_{first_id(now_ms - days * DAY_MS + 1)}"
            for days in (self.retention.runs_days, self.retention.stages_days)
        )
        due = names[: bisect_left(names, old)]
        runs = str(self.home / RUNS_FOLDER)  # thousands are looked at: a `Path` for each takes longer than the look
        rest = [n for n in names[len(due) : bisect_left(names, rested)] if os.path.isdir(f"{runs}/{n}/{STAGES}")]  # noqa: PTH112
        edited = frozenset(reader.subjects(kind=TAKEN)) if rest else frozenset[str]()
        return due + [name for name in rest if name not in edited]

    def _fate(self, reader: BooksReader, folder: Path, needed: frozenset[str], now_ms: int) -> Fate:
        run_id, kinds, last_ms = folder.name, list[str](), None
        for fact in reader.facts(kind=_TELLING, subject=run_id):
            kinds.append(fact.kind)
            last_ms = fact.at_ms
        return fate_of(
            RunFiles(
                last_ms=last_ms,
                has_end=FINISHED in kinds,
                is_needed=run_id in needed,
                is_told=not marker_of(folder).exists(),
                has_edits=TAKEN in kinds,
                is_applied=APPLIED in kinds,
                is_applying=kinds[-1:] == [APPLYING] or (self.home / MARKERS / run_id).exists(),
                has_stages=(folder / STAGES).is_dir(),
            ),
            self.retention,
            now_ms,
        )

    @contextlib.contextmanager
    def _trash(self) -> Iterator[Trash | None]:
        """Where things go, for us alone; None where nothing is to go."""
        if self.dry:
            yield None
            return
        folder = self.home / TRASH
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            trash = Trash(folder)
            trash.empty()
            yield trash
        except BlockingIOError as error:
            raise Unavailable(f"another process sweeps {self.home}") from error
        finally:
            os.close(lock)


def _take(place: Path, trash: Trash | None) -> int:
    """Remove it; how many bytes it held."""
    size_bytes = 0
    with contextlib.suppress(PermissionError):  # what cannot be looked at is not counted
        size_bytes = sum(found.identity[1] for found in walk(place) if found.is_file)
    if trash is not None:
        trash.take(place)
    return size_bytes


def _folders(runs: Path) -> list[str]:
    if not runs.is_dir():
        return []
    with os.scandir(runs) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir())


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedArtifacts:
    """What nothing used when the newest fact was `seq`."""

    artifacts: tuple[Artifact, ...]
    seq: int


def unused_artifacts(reader: BooksReader, since_ms: int) -> UnusedArtifacts:
    """Artifacts that were brought before `since_ms`, and used by nothing that goes on or has ended since."""
    old = list(ARTIFACTS.where(reader, "kept_at_ms <= ? ORDER BY id", (since_ms,)))
    texts = reader.execute(_USES, {"since": since_ms}) if old else ()
    used = {digest for (text,) in texts for digest in _DIGEST.findall(text)}
    newest = next(reader.facts(newest_first=True, limit=1), None)
    return UnusedArtifacts(
        artifacts=tuple(one for one in old if one.sha256 not in used), seq=newest.seq if newest else 0
    )


def end_artifacts(transaction: Transaction, artifacts: Sequence[Artifact], seq: int, at_ms: int) -> list[Artifact]:
    """End those of `artifacts` that no fact after `seq` names, and that are there still; which these are."""
    named = {digest for fact in transaction.facts(after_seq=seq) for digest in _DIGEST.findall(fact.body_json.decode())}
    ended = []
    for one in artifacts:
        if one.sha256 not in named and ARTIFACTS.get(transaction, one.id) == one:
            ARTIFACTS.remove(transaction, at_ms, one, touching=(one.account_id,))
            ended.append(one)
    return ended
