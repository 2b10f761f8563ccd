"""The story of a sweep: files of the data directory that nobody needs any more go, beside whoever uses it.

The facts stay. A thing loses its name first, in one step, so that it is there or gone, never half.
"""

import contextlib
import fcntl
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from earnest.effects.ground.backup.walking import walk
from earnest.effects.ground.clock import first_id
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.hands.workspace.tree import Trash
from earnest.engine.facts import FINISHED, STARTED
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import DAY_MS
from earnest.runtime.edits.applying import MARKERS
from earnest.runtime.edits.change import ABANDONED, APPLIED, APPLYING
from earnest.runtime.edits.taking import TAKEN
from earnest.runtime.retention import GOING, Fate, Retention, RunFiles, fate_of
from earnest.runtime.task_run import RUNS_FOLDER
from earnest.runtime.telling import marker_of, needed_runs
from earnest.runtime.verdict_book import VerdictBook

TRASH: Final = "trash"
STAGES: Final = "stages"
_TELLING: Final = (STARTED, FINISHED, TAKEN, APPLYING, APPLIED, ABANDONED)


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
