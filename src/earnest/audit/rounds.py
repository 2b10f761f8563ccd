"""What the log says about each run's rounds: the data from which the solver's constants are calibrated."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from earnest.audit.event import LogEvent, Scalar

OPEN_RUNS_MAX: Final = 1_024
"""Runs without an end that are followed at once; the oldest is let go."""
ROUNDS_MAX: Final = 200
BEGUN: Final = b'"kind":"TaskRequested"'
"""In the first line of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRound:
    """A round that R7 decided. `directive` is what it said, the run's end included.

    `objected`: no subtask had failed or was left out, and R4b rejected the whole; None for a log that does not say.
    """

    distance: float
    implausibility: float
    resource: float
    elapsed_ms: int
    directive: str
    accepted: bool
    objected: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """A run with an end. `elapsed_ms` runs from its TaskSpec, pauses left out."""

    run_id: str
    task_class: str
    time_budget_ms: int
    rounds: tuple[LoggedRound, ...]
    end: str
    elapsed_ms: int


@dataclass(slots=True, kw_only=True)
class _Open:
    task_class: str = ""
    time_budget_ms: int = 0
    specified_ms: int = 0
    downtime_ms: int = 0
    pending: tuple[int, bool, bool | None] | None = None
    """Of a round that waits for R7: how much time had passed, and `accepted` and `objected` of it."""
    rounds: list[LoggedRound] = field(default_factory=list)


def logged_runs(events: Iterable[LogEvent]) -> Iterator[LoggedRun]:
    """The runs that ended, in the order of their ends. What broke a boundary, and repetitions, count for nothing."""
    runs: dict[str, _Open] = {}
    for event in events:
        if event.violation or event.repeat or not event.run_id:
            continue
        if event.kind == "TaskRequested":
            runs[event.run_id] = _Open(time_budget_ms=int(_number(event.fields.get("budget_time_ms"))))
            if len(runs) > OPEN_RUNS_MAX:
                del runs[next(iter(runs))]
        elif (run := runs.get(event.run_id)) is not None:
            _follow(run, event)
            if event.kind == "FinalResult":
                del runs[event.run_id]
                if run.specified_ms:
                    yield _ended(event, run)


def _follow(run: _Open, event: LogEvent) -> None:
    fields = event.fields
    match event.kind:
        case "TaskSpec":
            run.task_class, run.specified_ms = str(fields.get("task_class", "")), event.at_ms
        case "RunResumed":
            run.downtime_ms += int(_number(fields.get("downtime_ms"))) if run.specified_ms else 0
        case "ReplanRequest" | "OutcomeSummary":
            run.pending = _elapsed_ms(run, event), event.kind == "OutcomeSummary", _objected(event)
        case "PlanDirective" | "FinalResult" if run.pending is not None and len(run.rounds) < ROUNDS_MAX:
            elapsed_ms, accepted, objected = run.pending
            decided = LoggedRound(
                distance=_number(fields.get("D")),
                implausibility=_number(fields.get("P")),
                resource=_number(fields.get("Omega")),
                elapsed_ms=elapsed_ms,
                directive=str(fields.get("directive", "")),
                accepted=accepted,
                objected=objected,
            )
            run.rounds.append(decided)
            run.pending = None


def _ended(event: LogEvent, run: _Open) -> LoggedRun:
    return LoggedRun(
        run_id=event.run_id,
        task_class=run.task_class,
        time_budget_ms=run.time_budget_ms,
        rounds=tuple(run.rounds),
        end=str(event.fields.get("directive", "")),
        elapsed_ms=_elapsed_ms(run, event),
    )


def _objected(event: LogEvent) -> bool | None:
    if event.kind == "OutcomeSummary":
        return False
    counts = [event.fields.get("failed"), event.fields.get("not_run")]
    return None if None in counts else counts == [0, 0]


def _elapsed_ms(run: _Open, event: LogEvent) -> int:
    return max(0, event.at_ms - run.specified_ms - run.downtime_ms)


def _number(value: Scalar) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
