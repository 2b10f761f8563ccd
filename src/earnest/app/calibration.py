"""The auditor's log and the solver's rules meet here: neither may know the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.app.settings import CONSTANTS, PER_RUN
from earnest.audit.reading import position_before, read_lines
from earnest.audit.rounds import BEGUN, LoggedRound, LoggedRun, logged_runs
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
    runs = tuple(_recorded(log, newest))
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


def _recorded(log: Path, newest: int) -> Iterator[RecordedRun]:
    """Runs whose words are the solver's. A line that does not hold is left out: `earnest audit report` tells of it."""
    start = position_before(log, BEGUN, newest)
    events = (line.event for line in read_lines(log, start) if line.event is not None and not line.fault)
    for run in logged_runs(events):
        if run.end in list(MacroState) and all(one.directive in list(MacroState) for one in run.rounds):
            yield _run(run)


def _run(run: LoggedRun) -> RecordedRun:
    return RecordedRun(
        run_id=run.run_id,
        task_class=run.task_class,
        time_budget_ms=run.time_budget_ms,
        rounds=tuple(map(_round, run.rounds)),
        end=MacroState(run.end),
        elapsed_ms=run.elapsed_ms,
    )


def _round(one: LoggedRound) -> RecordedRound:
    return RecordedRound(
        distance=one.distance,
        implausibility=one.implausibility,
        resource=one.resource,
        elapsed_ms=one.elapsed_ms,
        state=MacroState(one.directive),
        accepted=one.accepted,
        objected=bool(one.objected),
    )


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
