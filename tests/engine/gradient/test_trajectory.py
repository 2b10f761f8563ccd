"""Does a run's solver remember its rounds, and does every run end?"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.engine.gradient.blocking import AttemptedCall, SubTaskTrial, Target, TriedApproach
from earnest.engine.gradient.cascade import AbandonCause, MacroState, Trend
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion
from earnest.engine.gradient.trajectory import Observation, Round, Trajectory, halt, observe
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass

LOGICAL, ENVIRONMENTAL = FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL
DEFAULT = Constants()


def seen(
    *failures: FailureClass | None,
    of: int = 10,
    tool: str = "shell:wc",
    approach: str | None = None,
    elapsed_ms: int = 0,
    answer: CriterionState = CriterionState.FAIL,
) -> Observation:
    """`of` criteria of one subtask, of which the first ones failed."""
    return Observation(
        judged=tuple(
            JudgedCriterion(
                criterion=f"C{at + 1}",
                subtask="count",
                answer=answer if at < len(failures) else CriterionState.PASS,
                failure_class=failures[at] if at < len(failures) and answer is CriterionState.FAIL else None,
            )
            for at in range(of)
        ),
        trials=(
            SubTaskTrial(
                subtask="count",
                approach=approach,
                calls=(
                    AttemptedCall(
                        tools=frozenset({tool}), target=f"{tool} on it", failure=failures[0] if failures else None
                    ),
                ),
            ),
        ),
        elapsed_ms=elapsed_ms,
    )


def run(*observations: Observation, constants: Constants = DEFAULT) -> tuple[Trajectory, list[Round]]:
    trajectory, rounds = Trajectory(), []
    for observation in observations:
        trajectory, current = observe(trajectory, observation, constants)
        rounds.append(current)
    return trajectory, rounds


def states(rounds: list[Round]) -> list[str]:
    return [str(current.decision.state) for current in rounds]


def test_the_first_round_has_no_gradient_and_follows_init() -> None:
    _, (first,) = run(seen(*[LOGICAL] * 5))
    assert (first.number, first.previous, first.quality_gradient, first.loss_gradient) == (1, "init", 0.0, 0.0)
    assert first.decision.state is MacroState.BREAK_SYMMETRY


def test_the_fourth_failing_round_abandons_after_three_replans() -> None:
    _, rounds = run(*[seen(*[LOGICAL] * 5)] * 4)
    assert states(rounds) == ["break_symmetry", "break_symmetry", "break_symmetry", "abandon"]
    assert rounds[-1].loss.resource == pytest.approx(0.8)
    assert rounds[-1].decision.cause is AbandonCause.BUDGET
    assert (rounds[-1].previous, rounds[-1].directive) == ("break_symmetry", None)


def test_without_replans_the_first_failing_round_abandons() -> None:
    _, rounds = run(seen(*[LOGICAL] * 5), constants=Constants(max_replans=0))
    assert states(rounds) == ["abandon"]


def test_a_first_round_that_passes_costs_no_failing_round() -> None:
    trajectory, (only,) = run(seen(), constants=Constants(max_replans=0))
    assert (only.decision.state, only.loss.resource) == (MacroState.ACCEPT, 0.0)
    assert trajectory.end == only.decision


def test_an_unchanged_failure_is_a_plateau_for_quality_and_a_divergence_for_the_loss() -> None:
    slow = [seen(*[ENVIRONMENTAL] * 5, elapsed_ms=elapsed) for elapsed in (0, 37_500, 75_000)]
    _, by_quality = run(*slow)
    _, by_loss = run(*slow, constants=Constants(signal=SolverSignal.LOSS))
    assert states(by_quality) == ["change_path"] * 3
    assert states(by_loss) == ["change_path", "refine", "abandon"]
    assert [current.trend for current in by_loss] == [Trend.PLATEAU] * 3
    assert by_quality[1].loss_gradient == by_loss[1].loss_gradient == pytest.approx(0.1)


def test_quality_that_moves_asks_for_another_approach_or_an_adjustment() -> None:
    _, wrong = run(seen(*[LOGICAL] * 8), seen(*[LOGICAL] * 6))
    _, hindered = run(seen(*[ENVIRONMENTAL] * 8), seen(*[ENVIRONMENTAL] * 6))
    assert states(wrong) == ["break_symmetry", "change_approach"]
    assert states(hindered) == ["change_path", "refine"]


def test_law_2_ends_a_run_that_becomes_worse_twice_in_a_row() -> None:
    worse = [seen(*[LOGICAL] * failed) for failed in (4, 6, 8)]
    trajectory, rounds = run(*worse)
    assert states(rounds) == ["break_symmetry", "change_approach", "abandon"]
    assert trajectory.end is not None
    assert trajectory.end.cause is AbandonCause.DIVERGENCE


def test_a_better_round_between_two_worse_ones_is_no_divergence() -> None:
    trajectory, rounds = run(
        *[seen(*[LOGICAL] * failed) for failed in (5, 7, 5, 7)], constants=Constants(max_replans=9)
    )
    assert trajectory.worsening == 1
    assert trajectory.end is None
    assert len(rounds) == 4


def test_tools_accumulate_under_break_symmetry_and_not_under_change_approach() -> None:
    plateau = [seen(*[LOGICAL] * 8, tool="shell:wc"), seen(*[LOGICAL] * 8, tool="shell:awk")]
    _, stuck = run(*plateau)
    _, moving = run(plateau[0], seen(*[LOGICAL] * 6, tool="shell:awk"))
    assert [current.directive and current.directive.blocked_tools for current in stuck] == [
        ("shell:wc",),
        ("shell:awk", "shell:wc"),
    ]
    assert moving[1].directive is not None
    assert moving[1].directive.blocked_tools == ("shell:awk",)


def test_targets_stay_blocked_whatever_the_next_directive_is() -> None:
    first = seen(*[ENVIRONMENTAL] * 8, tool="shell:curl")
    _, rounds = run(first, seen(*[LOGICAL] * 8, tool="shell:wc"))
    assert states(rounds) == ["change_path", "change_approach"]
    for current in rounds:
        assert current.directive is not None
        assert current.directive.blocked_targets == (Target(tool="shell:curl", target="shell:curl on it"),)
    assert rounds[0].directive is not None
    assert rounds[0].directive.blocked_tools == ()


def test_a_logically_failed_approach_stays_blocked() -> None:
    _, rounds = run(seen(*[LOGICAL] * 8, approach="a"), seen(*[ENVIRONMENTAL] * 8, approach="b"))
    assert rounds[-1].directive is not None
    assert rounds[-1].directive.blocked_approaches == (TriedApproach(subtask="count", approach="a"),)


def test_a_tool_that_was_blocked_is_free_again_when_only_it_is_left() -> None:
    first = replace(
        seen(*[LOGICAL] * 8, tool="shell:datamash"),
        alternatives={"count": (frozenset({"shell:wc"}), frozenset({"shell:datamash"}))},
    )
    second = replace(seen(*[LOGICAL] * 8, tool="shell:wc"), alternatives={"count": (frozenset({"shell:datamash"}),)})
    trajectory, rounds = run(first, second)
    assert [current.directive and current.directive.blocked_tools for current in rounds] == [
        ("shell:datamash",),
        ("shell:wc",),
    ]
    assert trajectory.blocked.tools == ("shell:wc", "shell:datamash")


def test_a_subtask_that_kept_its_promise_holds_no_tool_back() -> None:
    kept = JudgedCriterion(criterion="C1", subtask="kept", answer=CriterionState.PASS)
    failed = seen(*[LOGICAL] * 8)
    observation = replace(failed, judged=(*failed.judged, kept), alternatives={"kept": (frozenset({"shell:wc"}),)})
    _, (only,) = run(observation)
    assert only.directive is not None
    assert only.directive.blocked_tools == ("shell:wc",)


def test_the_directive_names_the_heaviest_failure() -> None:
    light = JudgedCriterion(criterion="C1", subtask="a", answer=CriterionState.NOT_RUN)
    heavy = JudgedCriterion(criterion="C2", subtask=None, answer=CriterionState.FAIL, failure_class=LOGICAL)
    _, (only,) = run(Observation(judged=(light, heavy), elapsed_ms=0))
    assert only.directive is not None
    assert (only.directive.failed_criterion, only.directive.failure_class) == ("task/C2", "logical")


def test_a_round_without_any_criterion_is_a_total_failure() -> None:
    _, (only,) = run(Observation(judged=(), elapsed_ms=0))
    assert (only.loss.distance, only.decision.state) == (1.0, MacroState.CHANGE_PATH)
    assert only.directive is not None
    assert only.directive.failed_criterion == ""


@pytest.mark.parametrize("cause", AbandonCause)
def test_an_end_from_outside_keeps_its_cause(cause: AbandonCause) -> None:
    trajectory, _ = run(seen(*[LOGICAL] * 5))
    end = halt(trajectory, cause).end
    assert end is not None
    assert (end.state, end.cause) == (MacroState.ABANDON, cause)


def test_exhausted_over_unclear_criteria_alone_ends_as_unclear() -> None:
    trajectory, _ = run(seen(None, None, None, None, answer=CriterionState.UNCLEAR))
    ends = {cause: halt(trajectory, cause).end for cause in (AbandonCause.EXHAUSTED, AbandonCause.USER)}
    assert [end and end.cause for end in ends.values()] == [AbandonCause.UNCLEAR, AbandonCause.USER]


def test_nothing_follows_the_end() -> None:
    ended, _ = run(seen())
    with pytest.raises(Broken):
        observe(ended, seen(), DEFAULT)
    with pytest.raises(Broken):
        halt(ended, AbandonCause.USER)


failure = st.sampled_from([LOGICAL, ENVIRONMENTAL, None])
observations = st.builds(
    lambda failures, tool, approach, elapsed_ms, answer: seen(
        *failures, tool=tool, approach=approach, elapsed_ms=elapsed_ms, answer=answer
    ),
    st.lists(failure, max_size=10),
    st.sampled_from(["shell:wc", "shell:awk", "read_file"]),
    st.sampled_from([None, "a", "b"]),
    st.integers(0, 400_000),
    st.sampled_from([CriterionState.FAIL, CriterionState.UNCLEAR, CriterionState.NOT_RUN]),
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.data(), st.integers(0, 10), st.sampled_from(SolverSignal))
def test_every_run_ends_after_its_replans_and_what_is_blocked_only_grows(
    data: st.DataObject, max_replans: int, signal: SolverSignal
) -> None:
    constants = Constants(max_replans=max_replans, signal=signal)
    trajectory = Trajectory()
    while trajectory.end is None:
        before = trajectory
        trajectory, current = observe(before, data.draw(observations), constants)
        assert current.number == len(trajectory.rounds) <= max_replans + 1
        assert (current.directive is None) == current.decision.state.ends == (trajectory.end is not None)
        for kind in ("tools", "targets", "approaches"):
            assert set(getattr(before.blocked, kind)) <= set(getattr(trajectory.blocked, kind))
        if current.directive is not None:
            assert set(current.directive.blocked_tools) <= set(trajectory.blocked.tools)
            assert current.directive.blocked_targets == trajectory.blocked.targets
