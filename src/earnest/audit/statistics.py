"""Statistics as a fold over the log's events: the same lines always give the same numbers.

The statistics are updated in place, because one that copied itself at every line could not keep up with the bus.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from earnest.audit.boundary import Violation
from earnest.audit.event import LogEvent, Note, Scalar

T = TypeVar("T")

DRIFT_CORRECTIONS: Final = 5
"""So many corrections before a replan are an alert."""
FINDINGS_MAX: Final = 100
"""Of each list in one window; what is over is counted."""
OPEN_RUNS_MAX: Final = 128
MESSAGE_IDS_MAX: Final = 8_192
"""Of one open run. Beyond them its causes are no longer judged."""
REMEMBERED_RUNS_MAX: Final = 1_024
"""Ended runs, and runs in one window's trends."""
SESSION: Final = "session"
"""What is said between runs; no run."""
PLACE: Final = "place"
"""The field with a message's place in the stream that it was read from."""
SPENT: Final = ("cost_micro", "prompt_tokens", "completion_tokens", "model_calls")
"""What a FinalResult says it spent."""
TIME_GRACE_MS: Final = 5_000
"""Ending a run whose time is over takes a moment."""


class FindingCode(StrEnum):
    """What an anomaly or alert is called."""

    DRIFT = "drift"
    GGS_THRASHING = "ggs_thrashing"
    SILENT_RUN = "silent_run"
    DROPPED_MESSAGES = "dropped_messages"
    OVER_BUDGET = "over_budget"
    UNLOGGED_MESSAGES = "unlogged_messages"
    UNREADABLE_PAYLOAD = "unreadable_payload"
    LOG_REPAIRED = "log_repaired"
    LOG_BROKEN = "log_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing that the operator should know. `run_id` is empty if it is about no run."""

    code: str
    run_id: str
    detail: str


@dataclass(slots=True, kw_only=True)
class AuditFindings:
    """A bounded list of findings."""

    listed: list[AuditFinding] = field(default_factory=list)
    unlisted: int = 0

    def add(self, code: str, run_id: str, detail: str) -> None:
        """List it, or count it when the list is full."""
        if len(self.listed) < FINDINGS_MAX:
            self.listed.append(AuditFinding(code=code, run_id=run_id, detail=detail))
        else:
            self.unlisted += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGap:
    """Where a run stands after `rounds` decided rounds, the terminal one included. None: the message did not say."""

    rounds: int
    gradient: float | None
    distance: float | None


@dataclass(slots=True, kw_only=True)
class StatisticsWindow:
    """What was counted since the last periodic report."""

    start_ms: int = 0
    gaps: dict[str, RunGap | None] = field(default_factory=dict)
    """Runs observed, the oldest first; None before the first decided round."""
    runs_unlisted: int = 0
    corrections: int = 0
    execution_failures: int = 0
    environmental_retries: int = 0
    logical_retries: int = 0
    dropped_messages: int = 0
    unlogged_messages: int = 0
    boundary_violations: AuditFindings = field(default_factory=AuditFindings)
    drift_alerts: AuditFindings = field(default_factory=AuditFindings)
    anomalies: AuditFindings = field(default_factory=AuditFindings)


@dataclass(slots=True, kw_only=True)
class OpenRun:
    """A run without a FinalResult. Forgotten with it."""

    started: bool = False
    last_ms: int = 0
    specified_ms: int | None = None
    """When its TaskSpec was sent: its time runs from there."""
    downtime_ms: int = 0
    """How long nothing ran."""
    budget: dict[str, int] = field(default_factory=dict)
    message_ids: set[str] = field(default_factory=set)
    ids_complete: bool = True
    """False once not every message id is known any more."""
    corrections: int = 0
    """Since the last replan."""
    gap: RunGap | None = None
    directive: str = ""
    thrashing: bool = False
    silence_told: bool = False


@dataclass(slots=True, kw_only=True)
class Statistics:
    """The fold's state."""

    broken: str = ""
    """The first break of the chain in words; empty while it holds."""
    window: StatisticsWindow = field(default_factory=StatisticsWindow)
    runs: dict[str, OpenRun] = field(default_factory=dict)
    ended: dict[str, None] = field(default_factory=dict)
    """Runs with a FinalResult, the oldest first."""
    place: int = 0
    """Of the last message that came from a stream: its place there."""
    at_place: str = ""
    """Its id."""


def fold(statistics: Statistics, event: LogEvent) -> None:
    """Count one line in.

    A message that its sender may not send is reported and counts for nothing else: a FinalResult of the executor ends
    no run. What comes after a run's FinalResult is judged for its boundaries and not counted.
    """
    window = statistics.window
    if event.seq == 1:
        window.start_ms = event.at_ms
    if event.kind in _NOTES:
        _fold_note(statistics, event)
        return
    if place := _integer(event.fields.get(PLACE)):
        statistics.place, statistics.at_place = place, event.id
    if event.violation:
        window.boundary_violations.add(event.violation, event.run_id, f"{event.sender} sent {event.kind} {event.id}")
    if not event.digest:
        detail = f"{event.sender} sent {event.kind} {event.id}"
        window.anomalies.add(FindingCode.UNREADABLE_PAYLOAD, event.run_id, detail)
    if not event.run_id or event.run_id in statistics.ended:
        return
    run = statistics.runs.get(event.run_id)
    if run is None:
        run = statistics.runs[event.run_id] = OpenRun()
        _forget_oldest(statistics.runs, OPEN_RUNS_MAX)
    run.last_ms = max(run.last_ms, event.at_ms)  # a replayed message keeps its old time
    run.silence_told = False
    if len(run.message_ids) < MESSAGE_IDS_MAX:
        run.message_ids.add(event.id)
    else:
        run.ids_complete = False
    if not event.repeat and event.violation != Violation.FOREIGN_SENDER:
        _count(statistics, run, event)


def knows_cause(statistics: Statistics, run_id: str, causation_id: str | None) -> bool:
    """True if this cause was seen in this run, or if nobody can tell any more."""
    if run_id in statistics.ended:
        return True
    run = statistics.runs.get(run_id)
    return run is not None and causation_id is not None and (causation_id in run.message_ids or not run.ids_complete)


def silent_runs(statistics: Statistics, now_ms: int, silence_ms: int) -> dict[str, OpenRun]:
    """Runs that were started, have no FinalResult and sent nothing for `silence_ms`."""
    return {
        run_id: run for run_id, run in statistics.runs.items() if run.started and now_ms - run.last_ms >= silence_ms
    }


def _fold_note(statistics: Statistics, event: LogEvent) -> None:
    window, fields = statistics.window, event.fields
    match event.kind:
        case Note.REPAIRED:
            detail = f"{_integer(fields.get('cut_bytes'))} bytes of a torn last line were cut off"
            window.anomalies.add(FindingCode.LOG_REPAIRED, "", detail)
        case Note.UNLOGGED:
            window.unlogged_messages += _integer(fields.get("count"))
        case Note.DROPPED:
            window.dropped_messages += _integer(fields.get("count"))
        case Note.WINDOW:
            for run in silent_runs(statistics, event.at_ms, _integer(fields.get("silence_ms"))).values():
                run.silence_told = True
            statistics.window = StatisticsWindow(start_ms=event.at_ms)


def _count(statistics: Statistics, run: OpenRun, event: LogEvent) -> None:
    window = statistics.window
    if event.run_id != SESSION and event.run_id not in window.gaps:
        window.gaps[event.run_id] = run.gap
        window.runs_unlisted += _forget_oldest(window.gaps, REMEMBERED_RUNS_MAX)
    fields = event.fields
    match event.kind:
        case "TaskRequested":
            run.started = True
            run.budget = _budget_in(fields)
        case "TaskSpec":
            run.specified_ms = event.at_ms
        case "RunResumed":
            run.downtime_ms += _integer(fields.get("downtime_ms"))
        case "ExecutionResult":
            window.execution_failures += fields.get("status") == "failed"
        case "CorrectionSignal":
            _count_correction(window, run, event)
        case "ReplanRequest":
            run.corrections = 0
        case "PlanDirective":
            _count_round(window, run, event)
        case "FinalResult":
            _count_round(window, run, event)
            _check_budget(window, run, event)
            del statistics.runs[event.run_id]
            statistics.ended[event.run_id] = None
            _forget_oldest(statistics.ended, REMEMBERED_RUNS_MAX)


def _count_correction(window: StatisticsWindow, run: OpenRun, event: LogEvent) -> None:
    failure_class = event.fields.get("failure_class")
    window.corrections += 1
    window.environmental_retries += failure_class in ("environmental", "mixed")
    window.logical_retries += failure_class in ("logical", "mixed")
    run.corrections += 1
    if run.corrections == DRIFT_CORRECTIONS:
        window.drift_alerts.add(FindingCode.DRIFT, event.run_id, f"{DRIFT_CORRECTIONS} corrections before a replan")


def _count_round(window: StatisticsWindow, run: OpenRun, event: LogEvent) -> None:
    """Take the round's gap, and notice symmetry broken again and again without coming closer."""
    before, directive = run.gap, str(event.fields.get("directive", ""))
    gap = RunGap(
        rounds=before.rounds + 1 if before else 1,
        gradient=_number(event.fields.get("gradient")),
        distance=_number(event.fields.get("D")),
    )
    again = run.directive == directive == "break_symmetry"
    if (
        again
        and before
        and before.distance is not None
        and gap.distance is not None
        and gap.distance >= before.distance
    ):
        if not run.thrashing:
            detail = (
                f"break_symmetry in rounds {before.rounds} and {gap.rounds}, D {before.distance:g} to {gap.distance:g}"
            )
            window.anomalies.add(FindingCode.GGS_THRASHING, event.run_id, detail)
        run.thrashing = True
    else:
        run.thrashing = False
    run.gap, run.directive = gap, directive
    window.gaps[event.run_id] = gap


def _check_budget(window: StatisticsWindow, run: OpenRun, event: LogEvent) -> None:
    """Time is measured here; cost and tokens are those that the run says it spent."""
    said = {name: _integer(event.fields.get(f"spent_{name}")) for name in SPENT}
    spent = {**said, "tokens": said["prompt_tokens"] + said["completion_tokens"]}
    if run.specified_ms is not None:
        spent["time_ms"] = event.at_ms - run.specified_ms - run.downtime_ms
    for name, limit in run.budget.items():
        amount = spent.get(name, 0)
        if amount > limit + (TIME_GRACE_MS if name == "time_ms" else 0):
            window.anomalies.add(FindingCode.OVER_BUDGET, event.run_id, f"{name} {amount} of {limit}")


def _budget_in(fields: dict[str, Scalar]) -> dict[str, int]:
    """The limits of a TaskRequested by their names."""
    return {
        name.removeprefix("budget_"): value
        for name, value in fields.items()
        if name.startswith("budget_") and isinstance(value, int)
    }


def _forget_oldest(remembered: dict[str, T], limit: int) -> int:
    """Hold a dictionary to its limit. Returns how many were forgotten: 0 or 1."""
    if len(remembered) <= limit:
        return 0
    del remembered[next(iter(remembered))]
    return 1


def _integer(value: Scalar) -> int:
    return value if isinstance(value, int) else 0


def _number(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) else None


_NOTES: Final = frozenset(Note)
