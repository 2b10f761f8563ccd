"""What is kept beside the log: its sums when it was last read, so that a report reads only what came since; reports."""

import json
import logging
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter

from earnest.audit.event import LogPosition
from earnest.audit.reading import CheckedLine, has_position, read_lines
from earnest.audit.report import AuditReport, AuditSettings, Trigger, report_json, report_of
from earnest.audit.statistics import Statistics, fold

SNAPSHOT_NAME: Final = "audit_stats.json"
SNAPSHOT_BYTES_MAX: Final = 256 * 1024 * 1024
REPORTS_NAME: Final = "reports.jsonl"
REPORTS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Then the file is put aside as `reports.jsonl.1`, in the place of the one before."""

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class LogSnapshot:
    """Statistics and the line of the log up to which they count."""

    format: Literal["earnest-audit-stats-v1"] = "earnest-audit-stats-v1"
    end: LogPosition = field(default_factory=LogPosition)
    statistics: Statistics = field(default_factory=Statistics)


@cache
def _adapter() -> TypeAdapter[LogSnapshot]:
    """Made where it is needed: that takes longer than to load everything else here."""
    return TypeAdapter(LogSnapshot)


def read_report(log_path: Path, *, now_ms: int, settings: AuditSettings | None = None) -> AuditReport:
    """A report on demand, computed from the log alone, by any process. Raises `Refused("audit_log_missing")`."""
    snapshot = take_snapshot(log_path)
    return report_of(
        snapshot.statistics,
        snapshot.end,
        trigger=Trigger.ON_DEMAND,
        now_ms=now_ms,
        settings=settings or AuditSettings(),
    )


def take_snapshot(log_path: Path) -> LogSnapshot:
    """The statistics of the whole log: those kept beside it, and the lines since; they are kept for the next time.

    A log that lost lines which the kept statistics counted is read anew and called broken. Raises
    `Refused("audit_log_missing")`.
    """
    snapshot = _load(log_path)
    if not has_position(log_path, snapshot.end):
        lost = f"line {snapshot.end.lines}, which was read before, is gone or changed"
        snapshot = LogSnapshot(statistics=Statistics(broken=lost))
    statistics, line = snapshot.statistics, None
    for line in read_lines(log_path, snapshot.end):
        if line.fault and not statistics.broken:
            statistics.broken = f"line {line.lines}: {line.fault}"
        if line.event is not None:
            fold(statistics, line.event)
    if line is not None:
        snapshot.end = line.end
        keep_snapshot(log_path, snapshot)
    return snapshot


def keep_snapshot(log_path: Path, snapshot: LogSnapshot) -> None:
    """Write it beside the log (mode 0600) by renaming. A failure is logged: the next reader reads more, no more."""
    path = log_path.with_name(SNAPSHOT_NAME)
    draft = path.with_name(f"{SNAPSHOT_NAME}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_adapter().dump_json(snapshot))
        draft.replace(path)
    except OSError as error:
        _log.warning("audit statistics were not kept: %s", error)


def keep_report(log_path: Path, report: AuditReport) -> None:
    """Append a periodic report, one JSON object a line, to its file (mode 0600). Raises `OSError`."""
    path = log_path.with_name(REPORTS_NAME)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(f"{json.dumps(report_json(report))}\n".encode())
        is_full = file.tell() > REPORTS_BYTES_MAX
    if is_full:
        path.replace(path.with_name(f"{REPORTS_NAME}.1"))


class KeptSums:
    """The kept statistics, held against the lines that they count while these are read from the first on."""

    def __init__(self, log_path: Path) -> None:
        path = log_path.with_name(SNAPSHOT_NAME)
        self.kept: Final = _load(log_path)
        self._anew = Statistics()
        self._is_damaged = not self.kept.end.lines and path.exists() and bool(path.stat().st_size)
        self._knows_first: bool | None = None

    def take(self, line: CheckedLine) -> None:
        """The next line."""
        if self._knows_first is None:
            self._knows_first = line.lines <= 1  # else lines that they count were removed
        if self._knows_first and line.event is not None and line.lines <= self.kept.end.lines:
            fold(self._anew, line.event)

    @property
    def are_altered(self) -> bool:
        """True if there are such statistics, and they are not those of the lines that were taken."""
        return self._is_damaged or (self._knows_first is not False and self._anew != self.kept.statistics)


def _load(log_path: Path) -> LogSnapshot:
    """What was kept, or nothing if it cannot be read: it is only a short cut."""
    path = log_path.with_name(SNAPSHOT_NAME)
    try:
        with path.open("rb") as file:
            kept = file.read(SNAPSHOT_BYTES_MAX)
        return _adapter().validate_json(kept, strict=True)
    except (OSError, ValueError):
        return LogSnapshot()
