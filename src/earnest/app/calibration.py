"""The auditor's log and the solver's rules meet here: neither may know the other."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from earnest.app.settings import CONSTANTS, PER_RUN
from earnest.audit.event import LogEvent, Scalar
from earnest.audit.reading import position_before, read_lines
from earnest.engine.gradient.calibration import (
    ConstantProposal,
    Proposal,
    RecordedRound,
    RecordedRun,
    Replay,
    constant_proposals,
    for_run,
    proposals,
    replay,
)
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.foundation.errors import Diagnostic, Faulty

_SETTABLE: Final = {**CONSTANTS, **{name: name for name in PER_RUN if name != "tolerance"}}
_WHOLE: Final = ("time_budget_ms", "max_replans", "kill_after")
OPEN_RUNS_MAX: Final = 1_024
"""Runs without an end that are followed at once; the oldest is let go."""
ROUNDS_MAX: Final = 200
BEGUN: Final = b'"kind":"TaskRequested"'
"""In the first line of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A run under the constants in force and under those that were asked for.

    `explained`: the constants in force decide as was decided then; if not, others were in force.
    """

    explained: bool
    other: Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What calibration has to say, runs in the order of their ends."""

    runs: tuple[Compared, ...]
    constants: tuple[ConstantProposal, ...]
    proposals: tuple[Proposal, ...]


def calibrate(log: Path, constants: Constants, changes: Mapping[str, str], newest: int) -> Calibration:
    """Replay about so many of the newest runs of the log under the constants with `changes`.

    Raises `Faulty` for what no constant can be.
    """
    other = _changed(constants, changes)
    start = position_before(log, BEGUN, newest)
    # A line that does not hold is left out: `earnest audit report` tells of it.
    runs = tuple(logged_runs(line.event for line in read_lines(log, start) if line.event and not line.fault))
    return Calibration(
        runs=tuple(
            Compared(
                explained=replay(run, for_run(run, constants)).states == run.states,
                other=replay(run, for_run(run, other, fixed=(_SETTABLE[name] for name in changes))),
            )
            for run in runs
        ),
        constants=constant_proposals(runs, constants),
        proposals=proposals(runs, constants),
    )


@dataclass(slots=True, kw_only=True)
class _Open:
    task_class: str = ""
    time_budget_ms: int = 0
    specified_ms: int = 0
    downtime_ms: int = 0
    pending: tuple[int, bool, bool] | None = None
    """Of a round that waits for R7: how much time had passed, and `accepted` and `objected` of it."""
    rounds: list[RecordedRound] = field(default_factory=list)


def logged_runs(events: Iterable[LogEvent]) -> Iterator[RecordedRun]:
    """The runs that ended, in the order of their ends; those whose words are not the solver's are left out.

    What broke a boundary, and repetitions, count for nothing.
    """
    runs: dict[str, _Open] = {}
    for event in events:
        if event.violation or event.repeat or not event.run_id:
            continue
        if event.kind == "TaskRequested":
            runs[event.run_id] = _Open(time_budget_ms=int(_number(event.fields.get("budget_time_ms"))))
            if len(runs) > OPEN_RUNS_MAX:
                del runs[next(iter(runs))]
        elif (run := runs.get(event.run_id)) is not None:
            with suppress(ValueError):  # no directive of the solver's
                _follow(run, event)
                if event.kind != "FinalResult":
                    continue
                if run.specified_ms:
                    yield _ended(run, event)
            del runs[event.run_id]


def _follow(run: _Open, event: LogEvent) -> None:
    fields = event.fields
    match event.kind:
        case "TaskSpec":
            run.task_class, run.specified_ms = str(fields.get("task_class", "")), event.at_ms
        case "RunResumed":
            run.downtime_ms += int(_number(fields.get("downtime_ms"))) if run.specified_ms else 0
        case "ReplanRequest":  # R4b rejected the whole if no subtask had failed or was left out
            run.pending = _elapsed_ms(run, event), False, [fields.get("failed"), fields.get("not_run")] == [0, 0]
        case "OutcomeSummary":
            run.pending = _elapsed_ms(run, event), True, False
        case "PlanDirective" | "FinalResult" if run.pending is not None and len(run.rounds) < ROUNDS_MAX:
            elapsed_ms, accepted, objected = run.pending
            decided = RecordedRound(
                distance=_number(fields.get("D")),
                implausibility=_number(fields.get("P")),
                resource=_number(fields.get("Omega")),
                elapsed_ms=elapsed_ms,
                state=MacroState(str(fields.get("directive"))),
                accepted=accepted,
                objected=objected,
            )
            run.rounds.append(decided)
            run.pending = None


def _ended(run: _Open, event: LogEvent) -> RecordedRun:
    return RecordedRun(
        run_id=event.run_id,
        task_class=run.task_class,
        time_budget_ms=run.time_budget_ms,
        rounds=tuple(run.rounds),
        end=MacroState(str(event.fields.get("directive"))),
        elapsed_ms=_elapsed_ms(run, event),
    )


def _elapsed_ms(run: _Open, event: LogEvent) -> int:
    """From the run's TaskSpec, pauses left out."""
    return max(0, event.at_ms - run.specified_ms - run.downtime_ms)


def _number(value: Scalar) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _changed(constants: Constants, changes: Mapping[str, str]) -> Constants:
    known, unknown = ", ".join(sorted(_SETTABLE)), [name for name in changes if name not in _SETTABLE]
    faults = [f"there is no constant {name!r}; known: {known}" for name in unknown]
    values: dict[str, int | float | SolverSignal] = {}
    for name, text in changes.items():
        if name in unknown:
            continue
        try:
            whole = name in _WHOLE
            values[_SETTABLE[name]] = SolverSignal(text) if name == "signal" else int(text) if whole else float(text)
        except ValueError:
            faults.append(f"{name} cannot be {text!r}")
    changed = replace(constants, **values)  # type: ignore[arg-type]  # each has the type of its constant
    faults += () if faults else changed.faults()
    if faults:
        raise Faulty([Diagnostic(source="--set", line=0, message=fault) for fault in faults])
    return changed
