"""Does the log give the rounds of a run as they were decided, and nothing that was not?"""

from pathlib import Path

import pytest
from audit_scripts import START_MS, event

from earnest.app.calibration import calibrate, logged_runs
from earnest.audit.event import LogEvent, Scalar
from earnest.audit.fields import select_fields
from earnest.audit.files import full_files
from earnest.audit.log import AuditLog
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.foundation.errors import Faulty

FAR: dict[str, Scalar] = {"D": 1.0, "P": 1.0, "Omega": 0.2, "directive": "break_symmetry"}
MET: dict[str, Scalar] = {"D": 0.0, "P": 0.0, "Omega": 0.2, "directive": "accept"}


def told(*said: tuple[str, int, dict[str, Scalar]]) -> list[LogEvent]:
    """A run's lines: kind, milliseconds from the start, fields."""
    return [
        event(seq, kind, fields=fields)._replace(at_ms=START_MS + at_ms)
        for seq, (kind, at_ms, fields) in enumerate(said, start=1)
    ]


TWO_ROUNDS = told(
    ("TaskRequested", 0, {"budget_time_ms": 300_000}),
    ("TaskSpec", 10, {"task_class": "counting"}),
    ("ReplanRequest", 110, {"round": 1, "failed": 1, "not_run": 0}),
    ("PlanDirective", 111, FAR),
    ("OutcomeSummary", 210, {"round": 2}),
    ("FinalResult", 220, MET),
)


def test_a_run_is_its_decided_rounds_with_their_times() -> None:
    (run,) = logged_runs(TWO_ROUNDS)
    assert (run.task_class, run.time_budget_ms, run.end, run.elapsed_ms) == ("counting", 300_000, "accept", 210)
    assert [(r.elapsed_ms, r.state, r.distance, r.accepted, r.objected) for r in run.rounds] == [
        (100, "break_symmetry", 1.0, False, False),
        (200, "accept", 0.0, True, False),
    ]


def test_an_end_from_outside_is_no_round() -> None:
    stopped = [*TWO_ROUNDS[:4], *told(("StopRequested", 150, {}), ("FinalResult", 151, FAR | {"directive": "abandon"}))]
    (run,) = logged_runs(stopped)
    assert ([one.state for one in run.rounds], run.end) == (["break_symmetry"], "abandon")


def test_time_in_which_nothing_ran_does_not_count() -> None:
    paused = [*TWO_ROUNDS[:2], *told(("RunResumed", 60, {"downtime_ms": 40})), *TWO_ROUNDS[2:]]
    (run,) = logged_runs(paused)
    assert [one.elapsed_ms for one in run.rounds] == [60, 160]


@pytest.mark.parametrize(
    ("fields", "objected"),
    [
        ({"failed": 0, "not_run": 0}, True),
        ({"failed": 0, "not_run": 1}, False),
        ({"failed": 1, "not_run": 0}, False),
        ({}, False),
    ],
)
def test_only_a_rejection_without_failed_subtasks_is_an_objection(fields: dict[str, Scalar], objected: bool) -> None:
    lines = [*TWO_ROUNDS[:2], *told(("ReplanRequest", 110, fields)), *TWO_ROUNDS[3:]]
    (run,) = logged_runs(lines)
    assert run.rounds[0].objected is objected


@pytest.mark.parametrize("change", [{"violation": "foreign_sender"}, {"repeat": True}])
def test_what_broke_a_boundary_or_repeats_itself_counts_for_nothing(change: dict[str, str | bool]) -> None:
    forged = TWO_ROUNDS[3]._replace(**change, fields=MET)  # type: ignore[arg-type]
    assert list(logged_runs([*TWO_ROUNDS[:3], forged, *TWO_ROUNDS[3:]])) == list(logged_runs(TWO_ROUNDS))


def test_a_run_without_an_end_gives_nothing() -> None:
    assert list(logged_runs(TWO_ROUNDS[:-1])) == []


@pytest.mark.parametrize("at", [3, 5])
def test_a_run_with_a_word_that_is_not_the_solvers_is_left_out(at: int) -> None:
    strange = TWO_ROUNDS[at]._replace(fields=FAR | {"directive": "hope"})
    other = [line._replace(run_id="run_other") for line in TWO_ROUNDS]
    lines = [*TWO_ROUNDS[:at], strange, *TWO_ROUNDS[at + 1 :], *other]
    assert [run.run_id for run in logged_runs(lines)] == ["run_other"]


def test_of_a_list_its_length_is_logged() -> None:
    picked = select_fields("ReplanRequest", {"round": 1, "failed": ["a", "b"], "not_run": []})
    assert picked == {"round": 1, "failed": 2, "not_run": 0}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    written = AuditLog.open(path, START_MS)
    for line in TWO_ROUNDS:
        written.append(line)
    written.close()
    return path


def test_calibration_says_what_other_constants_would_have_decided(log: Path) -> None:
    (same,) = calibrate(log, Constants(), {}, 9).runs
    (other,) = calibrate(log, Constants(), {"theta": "0.2", "signal": "loss", "max_replans": "2"}, 9).runs
    assert same.explained
    assert same.other.states == (MacroState.BREAK_SYMMETRY, MacroState.ACCEPT)
    assert other.other.states == (MacroState.ABANDON,)


@pytest.mark.slow
def test_of_the_newest_runs_as_many_are_tried_as_were_asked_for_over_files(tmp_path: Path) -> None:
    path, runs = tmp_path / "audit.jsonl", 400
    written = AuditLog.open(path, START_MS, file_bytes=100_000)
    for number, line in enumerate(line._replace(run_id=f"run_{at}") for at in range(runs) for line in TWO_ROUNDS):
        written.append(line._replace(seq=number + 1))
    written.close()
    assert len(full_files(path)) > 4
    for newest in (1, 100, 300):
        tried = [one.other.run.run_id for one in calibrate(path, Constants(), {}, newest).runs]
        assert tried == [f"run_{at}" for at in range(runs - len(tried), runs)]
        assert newest <= len(tried) < newest + 100
    assert len(calibrate(path, Constants(), {}, runs + 1).runs) == runs


def test_a_run_under_other_constants_is_told_as_such(log: Path) -> None:
    (one,) = calibrate(log, Constants(rho=1.0, signal=SolverSignal.LOSS), {}, 9).runs
    assert not one.explained


def test_a_damaged_line_is_left_out(log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b'"D":1', b'"D":0', 1))
    assert [len(one.other.run.rounds) for one in calibrate(log, Constants(), {}, 9).runs] == [1]


def test_all_that_no_constant_can_be_is_said_at_once(log: Path) -> None:
    with pytest.raises(Faulty) as fault:
        calibrate(log, Constants(), {"teta": "1", "theta": "much", "max_replans": "2.5", "signal": "noise"}, 9)
    assert len(fault.value.diagnostics) == 4
    with pytest.raises(Faulty, match="theta is 7"):
        calibrate(log, Constants(), {"theta": "7"}, 9)
