"""The operator's report on a window of time. (seed R6: AuditReport)"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.audit.event import LogPosition
from earnest.audit.statistics import AuditFinding, FindingCode, Statistics, silent_runs
from earnest.foundation.canonical import JsonObject
from earnest.foundation.instants import rfc3339
from earnest.foundation.shapes import to_json

_TOLERANCE: Final = 1e-9
"""A gradient computed to 0.0999…9 is one of 0.1."""


class Trigger(StrEnum):
    """Why a report was made. Only a periodic one begins a new window."""

    PERIODIC = "periodic"
    ON_DEMAND = "on-demand"


class RunTrend(StrEnum):
    """Where a run was heading in its latest decided round."""

    IMPROVING = "improving"
    WORSENING = "worsening"
    STABLE = "stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """When the auditor reports and from where on something is worth reporting."""

    report_period_ms: int = 300_000
    sync_period_ms: int = 5_000
    """How much of the log a power failure may take."""
    silence_ms: int = 300_000
    """A run that says nothing for so long is silent."""
    epsilon: float = 0.1
    """A gradient below it is no trend; the same as the solver's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTrend:
    """One run's trend, by the gradient of quality of its latest of `rounds` decided rounds."""

    run_id: str
    trend: RunTrend
    gradient: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHealth:
    """Failed executions, and corrections by failure class; a mixed one counts in both."""

    execution_failures: int
    environmental_retries: int
    logical_retries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """One window, and the line of the log up to which it was computed."""

    trigger: Trigger
    window_start_ms: int
    window_end_ms: int
    tasks_observed: int
    total_corrections: int
    gap_trends: tuple[GapTrend, ...]
    boundary_violations: tuple[AuditFinding, ...]
    drift_alerts: tuple[AuditFinding, ...]
    anomalies: tuple[AuditFinding, ...]
    unlisted_findings: int
    """How many more there were than the three lists hold."""
    tool_health: ToolHealth
    log: LogPosition

    @property
    def has_findings(self) -> bool:
        """True where somebody should hear of it without asking."""
        return bool(self.boundary_violations or self.drift_alerts or self.anomalies or self.unlisted_findings)


def trend_of(gradient: float, epsilon: float) -> RunTrend:
    """Falling loss of quality is improvement; less than `epsilon` either way is none."""
    if abs(gradient) < epsilon - _TOLERANCE:
        return RunTrend.STABLE
    return RunTrend.IMPROVING if gradient < 0 else RunTrend.WORSENING


def report_of(
    statistics: Statistics, log: LogPosition, *, trigger: Trigger, now_ms: int, settings: AuditSettings
) -> AuditReport:
    """The report on the current window. `log` is where the statistics end."""
    window = statistics.window
    return AuditReport(
        trigger=trigger,
        window_start_ms=window.start_ms,
        window_end_ms=now_ms,
        tasks_observed=len(window.gaps) + window.runs_unlisted,
        total_corrections=window.corrections,
        gap_trends=tuple(
            GapTrend(
                run_id=run_id, trend=trend_of(gap.gradient, settings.epsilon), gradient=gap.gradient, rounds=gap.rounds
            )
            for run_id, gap in window.gaps.items()
            if gap is not None and gap.gradient is not None
        ),
        boundary_violations=tuple(window.boundary_violations.listed),
        drift_alerts=tuple(window.drift_alerts.listed),
        anomalies=tuple(_anomalies(statistics, now_ms, settings.silence_ms)),
        unlisted_findings=sum(
            findings.unlisted for findings in (window.boundary_violations, window.drift_alerts, window.anomalies)
        ),
        tool_health=ToolHealth(
            execution_failures=window.execution_failures,
            environmental_retries=window.environmental_retries,
            logical_retries=window.logical_retries,
        ),
        log=log,
    )


def report_json(report: AuditReport) -> JsonObject:
    """The report as JSON, by the names of its fields."""
    return {"trigger": report.trigger, "window_start": rfc3339(report.window_start_ms), **to_json(report)}


def report_lines(report: AuditReport) -> list[str]:
    """The report as plain lines for a terminal. Empty lists are said to be empty."""
    health = report.tool_health
    trends = [
        f"  {trend.run_id}: {trend.trend} (gradient {trend.gradient:+.2f} in round {trend.rounds})"
        for trend in report.gap_trends
    ]
    retries = f"{health.environmental_retries} environmental and {health.logical_retries} logical retries"
    lines = [
        f"audit report ({report.trigger}), {rfc3339(report.window_start_ms)} to {rfc3339(report.window_end_ms)}",
        f"runs observed: {report.tasks_observed}",
        f"corrections: {report.total_corrections}",
        *_section("gap trends", trends),
        *_section("boundary violations", _described(report.boundary_violations)),
        *_section("drift alerts", _described(report.drift_alerts)),
        *_section("anomalies", _described(report.anomalies)),
        f"tool health: {health.execution_failures} failed executions, {retries}",
        f"log: {report.log.lines} lines, head {report.log.head}",
    ]
    if report.unlisted_findings:
        lines.insert(-2, f"not listed: {report.unlisted_findings} more findings")
    return lines


def _anomalies(statistics: Statistics, now_ms: int, silence_ms: int) -> Iterator[AuditFinding]:
    """Those of the window, around them what is only known when a report is made."""
    window = statistics.window
    if statistics.broken:
        yield AuditFinding(code=FindingCode.LOG_BROKEN, run_id="", detail=statistics.broken)
    if window.dropped_messages:
        detail = f"observers of the bus lost {window.dropped_messages} messages"
        yield AuditFinding(code=FindingCode.DROPPED_MESSAGES, run_id="", detail=detail)
    if window.unlogged_messages:
        detail = f"{window.unlogged_messages} messages could not be written to the log"
        yield AuditFinding(code=FindingCode.UNLOGGED_MESSAGES, run_id="", detail=detail)
    yield from window.anomalies.listed
    for run_id, run in silent_runs(statistics, now_ms, silence_ms).items():
        if not run.silence_told:
            detail = f"no message since {rfc3339(run.last_ms)} and no FinalResult"
            yield AuditFinding(code=FindingCode.SILENT_RUN, run_id=run_id, detail=detail)


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}: {len(lines)}", *lines] if lines else [f"{title}: none"]


def _described(findings: Iterable[AuditFinding]) -> list[str]:
    return [
        f"  {finding.code}: {finding.run_id + ': ' if finding.run_id else ''}{finding.detail}" for finding in findings
    ]
