"""Does a run leave behind what the next one can use, and nothing for the wrong cause?"""

import math

import pytest

from earnest.engine.gradient.blocking import AttemptedCall, SubTaskTrial
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.lessons import CONTENT_CHARACTERS_MAX, LESSONS_MAX, Lesson, lessons
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion
from earnest.engine.gradient.trajectory import Observation, Trajectory, halt, observe
from earnest.foundation.failures import FailureClass
from earnest.memory.megram import QUANTIZATION, Level, Tag, approach_tag, intent_tag, target_tag
from earnest.memory.megram import MegramState as Row

LOGICAL, ENVIRONMENTAL = FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL
DEFAULT = Constants()
TASK_CLASS = "inventory"
INTENT = intent_tag(TASK_CLASS)


def way(approach: str) -> Tag:
    return approach_tag(TASK_CLASS, "count", approach)


def seen(
    *failures: FailureClass | None,
    approach: str | None = "wc",
    calls: tuple[AttemptedCall, ...] = (),
    answer: CriterionState = CriterionState.FAIL,
    of: int = 4,
) -> Observation:
    met = [
        JudgedCriterion(criterion=f"C{at}", subtask="count", answer=CriterionState.PASS)
        for at in range(len(failures), of)
    ]
    unmet = [
        JudgedCriterion(criterion=f"C{at}", subtask="count", answer=answer, failure_class=failure)
        for at, failure in enumerate(failures)
    ]
    return Observation(
        judged=(*unmet, *met), trials=(SubTaskTrial(subtask="count", approach=approach, calls=calls),), elapsed_ms=0
    )


def taught(*observations: Observation, stopped: AbandonCause | None = None) -> list[tuple[Lesson, ...]]:
    """The lessons of each step of a run."""
    trajectory, found = Trajectory(), []
    for observation in observations:
        before = trajectory
        trajectory, _ = observe(before, observation, DEFAULT)
        found.append(_of(before, trajectory, observation))
    if stopped:
        found.append(_of(trajectory, halt(trajectory, stopped), None))
    return found


def _of(before: Trajectory, after: Trajectory, observation: Observation | None) -> tuple[Lesson, ...]:
    return lessons(task_class=TASK_CLASS, before=before, after=after, observation=observation, constants=DEFAULT)


def events(found: tuple[Lesson, ...]) -> list[tuple[MacroState, Tag]]:
    return [(lesson.state, lesson.tag) for lesson in found if lesson.level is Level.M]


def test_a_logically_failed_approach_is_an_anti_pattern_although_symmetry_was_to_be_broken() -> None:
    (first,) = taught(seen(*[LOGICAL] * 4))
    assert events(first) == [(MacroState.CHANGE_APPROACH, way("wc"))]


def test_an_environmentally_failed_approach_is_a_dead_end_and_unharmed() -> None:
    (first,) = taught(seen(*[ENVIRONMENTAL] * 4))
    assert events(first) == [(MacroState.CHANGE_PATH, way("wc"))]


@pytest.mark.parametrize("answer", [CriterionState.FAIL, CriterionState.UNCLEAR, CriterionState.NOT_RUN])
def test_a_failure_that_nobody_can_classify_teaches_nothing(answer: CriterionState) -> None:
    assert taught(seen(None, None, None, answer=answer)) == [()]


def test_each_refused_target_is_remembered_once_a_run() -> None:
    call = AttemptedCall(tools=frozenset({"shell:curl"}), target="curl u", ok=False, failure=ENVIRONMENTAL)
    first, second = taught(*[seen(*[ENVIRONMENTAL] * 4, approach=None, calls=(call, call))] * 2)
    assert events(first) == [(MacroState.CHANGE_PATH, target_tag("shell:curl", "curl u"))]
    assert events(second) == []


def test_without_approaches_only_calls_that_failed_themselves_are_blamed() -> None:
    calls = (
        AttemptedCall(tools=frozenset({"read_file"}), target="input.csv"),
        AttemptedCall(tools=frozenset({"shell:python3"}), target="python3 count.py", ok=False, failure=LOGICAL),
    )
    (first,) = taught(seen(*[LOGICAL] * 4, approach=None, calls=calls))
    assert events(first) == [(MacroState.CHANGE_APPROACH, target_tag("shell:python3", "python3 count.py"))]


def test_a_breakthrough_is_written_on_what_then_worked() -> None:
    _, second = taught(seen(*[LOGICAL] * 4), seen(approach="python"))
    assert events(second) == [
        (MacroState.BREAK_SYMMETRY, way("python")),
        (MacroState.ACCEPT, way("python")),
        (MacroState.ACCEPT, INTENT),
    ]


def test_a_breakthrough_without_approaches_is_written_on_the_calls_that_worked() -> None:
    calls = (
        AttemptedCall(tools=frozenset({"shell:awk"}), target="awk 1"),
        AttemptedCall(tools=frozenset({"shell:wc"}), target="wc", ok=False, failure=LOGICAL),
        AttemptedCall(tools=frozenset({"shell:sed"}), target="sed", ok=False),
    )
    _, second = taught(seen(*[LOGICAL] * 4, approach=None), seen(approach=None, calls=calls))
    assert events(second) == [
        (MacroState.BREAK_SYMMETRY, target_tag("shell:awk", "awk 1")),
        (MacroState.ACCEPT, INTENT),
    ]


def test_what_worked_all_along_is_no_breakthrough() -> None:
    kept = JudgedCriterion(criterion="C1", subtask="list", answer=CriterionState.PASS)
    first, second = (
        Observation(
            judged=(
                *found.judged,
                kept,
                JudgedCriterion(criterion="C1", subtask="sort", answer=CriterionState.NOT_RUN),
            ),
            trials=(*found.trials, SubTaskTrial(subtask="list", approach="ls")),
            elapsed_ms=0,
        )
        for found in (seen(*[LOGICAL] * 4), seen(approach="python"))
    )
    assert events(taught(first, second)[1])[0] == (MacroState.BREAK_SYMMETRY, way("python"))
    assert (MacroState.BREAK_SYMMETRY, approach_tag(TASK_CLASS, "list", "ls")) not in events(taught(first, second)[1])


def test_a_breakthrough_that_only_moves_the_failure_elsewhere_is_none() -> None:
    def one_of_two(failing: str) -> Observation:
        return Observation(
            judged=tuple(
                JudgedCriterion(
                    criterion="C1",
                    subtask=name,
                    answer=CriterionState.FAIL if name == failing else CriterionState.PASS,
                    failure_class=LOGICAL if name == failing else None,
                )
                for name in ("count", "list")
            ),
            trials=(
                SubTaskTrial(subtask="count", approach=f"a{failing}"),
                SubTaskTrial(subtask="list", approach=f"b{failing}"),
            ),
            elapsed_ms=0,
        )

    _, second = taught(one_of_two("count"), one_of_two("list"))
    assert events(second) == [(MacroState.CHANGE_APPROACH, approach_tag(TASK_CLASS, "list", "blist"))]


def test_no_improvement_is_no_breakthrough() -> None:
    _, second = taught(seen(*[LOGICAL] * 4), seen(*[LOGICAL] * 4, approach="python"))
    assert events(second) == [(MacroState.CHANGE_APPROACH, way("python"))]


def test_after_change_path_nothing_is_a_breakthrough() -> None:
    _, second = taught(seen(*[ENVIRONMENTAL] * 4), seen(approach="python"))
    assert MacroState.CHANGE_PATH not in [state for state, _ in events(second)]


def test_success_praises_only_what_kept_its_promise() -> None:
    found = seen(LOGICAL, of=5)
    kept = JudgedCriterion(criterion="C1", subtask="list", answer=CriterionState.PASS)
    observation = Observation(
        judged=(*found.judged, kept), trials=(*found.trials, SubTaskTrial(subtask="list", approach="ls")), elapsed_ms=0
    )
    (only,) = taught(observation)
    assert events(only) == [
        (MacroState.CHANGE_APPROACH, way("wc")),
        (MacroState.SUCCESS, approach_tag(TASK_CLASS, "list", "ls")),
        (MacroState.SUCCESS, INTENT),
    ]


def test_the_run_leaves_one_entry_in_words_that_does_not_weigh_on_its_task() -> None:
    second = taught(seen(*[LOGICAL] * 4), seen(approach="python"))[1]
    (entry,) = [lesson for lesson in second if lesson.level is Level.K]
    assert entry.tag == Tag(space=INTENT.space, entity="run:summary") != INTENT
    assert entry.content == (
        "accept in round 2. Every criterion is met (4 of 4). Worked: count by python. Set aside: count by wc."
    )


def test_a_run_that_used_up_its_replans_is_remembered_as_abandoned() -> None:
    last = taught(*[seen(*[LOGICAL] * 4)] * 4)[-1]
    assert events(last) == [(MacroState.CHANGE_APPROACH, way("wc")), (MacroState.ABANDON, INTENT)]


@pytest.mark.parametrize("cause", AbandonCause)
def test_every_abandon_is_remembered_and_what_says_nothing_about_the_task_apart(cause: AbandonCause) -> None:
    last = taught(seen(*[LOGICAL] * 4), stopped=cause)[-1]
    telling = {AbandonCause.BUDGET, AbandonCause.TIME, AbandonCause.DIVERGENCE, AbandonCause.EXHAUSTED}
    apart = Tag(space=INTENT.space, entity=f"cause:{cause}")
    assert events(last) == [(MacroState.ABANDON, INTENT if cause in telling else apart)]
    assert len(last) == (2 if cause in telling else 1)


def test_unclear_criteria_alone_speak_against_nothing() -> None:
    first, last = taught(seen(None, None, answer=CriterionState.UNCLEAR), stopped=AbandonCause.EXHAUSTED)
    assert (first, [lesson.tag.entity for lesson in last]) == ((), ["cause:unclear"])


def test_what_is_remembered_has_bounds() -> None:
    call = AttemptedCall(tools=frozenset({"shell:curl"}), target="x" * 100_000, ok=False, failure=ENVIRONMENTAL)
    (only,) = taught(seen(*[ENVIRONMENTAL] * 4, approach=None, calls=(call,)))
    assert len(only[0].content) < CONTENT_CHARACTERS_MAX + 100
    assert len(only[0].tag.entity) < 1_100


def test_more_refused_targets_than_a_plan_has_subtasks_are_not_remembered() -> None:
    calls = tuple(
        AttemptedCall(tools=frozenset({"glob"}), target=f"{at}", ok=False, failure=ENVIRONMENTAL) for at in range(1_000)
    )
    (only,) = taught(seen(*[ENVIRONMENTAL] * 4, approach=None, calls=calls))
    assert len(only) == LESSONS_MAX


def weight(found: list[tuple[Lesson, ...]], tag: Tag) -> tuple[float, float]:
    """Attention and decision of a tag right after the run."""
    rows = [QUANTIZATION[Row(lesson.state)] for step in found for lesson in step if lesson.tag == tag]
    return math.fsum(row.f for row in rows), math.fsum(row.f * row.sigma for row in rows)


def test_the_next_run_avoids_what_failed_and_exploits_what_worked() -> None:
    found = taught(seen(*[LOGICAL] * 4), seen(approach="python"))
    attention, decision = weight(found, way("wc"))
    assert attention >= 0.5
    assert decision < -0.2
    attention, decision = weight(found, way("python"))
    assert attention >= 0.5
    assert decision > 0.2
    assert weight(found, INTENT) == (0.9, 0.9)
