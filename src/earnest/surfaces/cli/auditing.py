"""What the auditor saw of late, or within a window of time up to now."""

import re
from pathlib import Path
from typing import Final

from earnest.app.platform import audit_settings
from earnest.app.readers import audit_log
from earnest.app.settings import Settings
from earnest.audit.event import LogPosition, Note, decode_line
from earnest.audit.reading import newest_lines
from earnest.audit.report import AuditReport, AuditSettings, Trigger, report_of
from earnest.audit.snapshot import take_snapshot
from earnest.audit.statistics import Statistics, fold
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.foundation.instants import DAY_MS

LINES_MAX: Final = 20_000
"""What is looked through for a window, so that the answer comes within 3 s."""
UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def window_ms_of(text: str) -> int:
    """`10m` as milliseconds. Raises `Faulty`."""
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if found is None or not int(found[1]):
        raise Faulty([Diagnostic(source="/audit", line=0, message=f"{text!r} is no time such as 30s, 10m, 2h or 1d")])
    return int(found[1]) * UNITS_MS[found[2]]


def report_on(settings: Settings, window_ms: int | None = None) -> AuditReport:
    """Of the newest `LINES_MAX` lines those that fall within the window, by default a day.

    Periodic reports have windows of their own, which end: what is shown here is not emptied by them. Where the one that
    goes on began before those lines, it is shown.
    """
    log, rules = audit_log(settings), audit_settings(settings)
    now_ms, kept = SystemClock().now_ms(), take_snapshot(log)
    newest = _newest(log, rules, window_ms or DAY_MS, now_ms, kept.statistics.broken)
    started_ms = kept.statistics.window.start_ms
    if window_ms is not None or (newest.window_start_ms and started_ms > newest.window_start_ms):
        return newest
    return report_of(kept.statistics, kept.end, trigger=Trigger.ON_DEMAND, now_ms=now_ms, settings=rules)


def _newest(log: Path, rules: AuditSettings, window_ms: int, now_ms: int, broken: str) -> AuditReport:
    statistics, end = Statistics(broken=broken), LogPosition()
    for text in newest_lines(log, LINES_MAX):
        try:
            line = decode_line(text)
        except ValueError as error:
            statistics.broken = statistics.broken or f"a line of the last {LINES_MAX}: {error}"
            continue
        end = LogPosition(lines=line.event.seq, head=line.hash)
        if line.event.at_ms >= now_ms - window_ms and line.event.kind != Note.WINDOW:
            fold(statistics, line.event)
    return report_of(statistics, end, trigger=Trigger.ON_DEMAND, now_ms=now_ms, settings=rules)
