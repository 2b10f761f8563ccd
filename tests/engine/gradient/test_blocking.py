"""Is what failed blocked, and never so much that nothing is left?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.engine.gradient.blocking import (
    AttemptedCall,
    Blocked,
    SubTaskTrial,
    Target,
    TriedApproach,
    blame,
    failures_of,
    logically_failing,
    passing,
    spare_last,
)
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion
from earnest.foundation.failures import FailureClass

LOGICAL, ENVIRONMENTAL = FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL
DEFAULT = Constants()


def judged(subtask: str | None, answer: CriterionState, failure_class: FailureClass | None = None) -> JudgedCriterion:
    return JudgedCriterion(criterion="C1", subtask=subtask, answer=answer, failure_class=failure_class)


def call(*tools: str, target: str = "x", failure: FailureClass | None = None) -> AttemptedCall:
    return AttemptedCall(tools=frozenset(tools), target=target, ok=failure is None, failure=failure)


ROUND = (
    judged("wrong", CriterionState.FAIL, LOGICAL),
    judged("hindered", CriterionState.FAIL, ENVIRONMENTAL),
    judged("unknown", CriterionState.FAIL),
    judged("good", CriterionState.PASS),
    judged("later", CriterionState.NOT_RUN),
)


def test_only_logically_failing_subtasks_contribute_tools_and_approaches() -> None:
    trials = [
        SubTaskTrial(subtask=one.subtask or "", approach="a", calls=(call(f"shell:{one.subtask}"),)) for one in ROUND
    ]
    blocked = blame(ROUND, trials, DEFAULT)
    assert blocked.tools == ("shell:wrong",)
    assert blocked.approaches == (TriedApproach(subtask="wrong", approach="a"),)


def test_the_tools_of_all_attempts_are_blamed_in_order_of_use() -> None:
    calls = (call("shell:wc", "shell:find"), call("read_file"), call("shell:wc"))
    assert blame(ROUND, [SubTaskTrial(subtask="wrong", calls=calls)], DEFAULT).tools == ("shell:find", "shell:wc")


@pytest.mark.parametrize(
    "general",
    ["shell", "write_file", "edit_file", "shell:bash", "shell:python3.11", "shell:sed", "shell:vi"],
)
def test_general_tools_are_never_blamed_for_a_criterion_that_was_not_met(general: str) -> None:
    trials = [SubTaskTrial(subtask="wrong", approach="a", calls=(call(general), call("shell:pdftotext")))]
    blocked = blame(ROUND, trials, DEFAULT)
    assert blocked.tools == ("shell:pdftotext",)
    assert blocked.approaches == (TriedApproach(subtask="wrong", approach="a"),)


def test_targets_come_from_environmental_calls_of_failing_subtasks() -> None:
    calls = (
        call("shell:curl", "shell:jq", target="curl u | jq", failure=ENVIRONMENTAL),
        call("read_file", target="a.txt", failure=LOGICAL),
        call("read_file", target="b.txt"),
    )
    elsewhere = (call("read_file", target="c.txt", failure=ENVIRONMENTAL),)
    trials = [SubTaskTrial(subtask="good", calls=elsewhere), SubTaskTrial(subtask="hindered", calls=calls)]
    assert blame(ROUND, trials, DEFAULT).targets == (
        Target(tool="shell:curl", target="curl u | jq"),
        Target(tool="shell:jq", target="curl u | jq"),
    )


def test_a_call_whose_arguments_named_nothing_has_no_target() -> None:
    assert call("a", "b", target="").targets == ()


def test_a_subtask_that_failed_half_and_half_counts_as_hindered() -> None:
    both = (judged("both", CriterionState.FAIL, LOGICAL), judged("both", CriterionState.FAIL, ENVIRONMENTAL))
    assert logically_failing(both, DEFAULT) == frozenset()
    assert logically_failing((*both, both[0]), DEFAULT) == {"both"}


def test_a_rejected_task_blames_no_subtask_that_kept_its_promise() -> None:
    rejected = (judged("good", CriterionState.PASS), judged(None, CriterionState.FAIL, LOGICAL))
    assert blame(rejected, [SubTaskTrial(subtask="good", approach="a", calls=(call("glob"),))], DEFAULT) == Blocked()
    assert not failures_of(rejected)
    assert passing(rejected) == {"good"}


def test_an_unclear_subtask_neither_fails_nor_passes() -> None:
    unclear = (judged("count", CriterionState.PASS), judged("count", CriterionState.UNCLEAR))
    assert not failures_of(unclear)
    assert not passing(unclear)


def test_the_last_usable_tool_is_never_blocked() -> None:
    two = {"count": (frozenset({"shell:wc"}), frozenset({"shell:python3"}))}
    assert spare_last(["shell:wc"], two) == ("shell:wc",)
    assert spare_last(["shell:python3", "shell:wc"], two) == ("shell:python3",)
    assert spare_last(["shell:wc"], {"count": (frozenset({"shell:wc", "read_file"}),)}) == ()


def test_a_subtask_without_alternatives_holds_nothing_back() -> None:
    assert spare_last(["b", "a", "b"], {"count": ()}) == ("a", "b")


def test_one_subtask_keeps_its_tool_from_being_blocked_for_another() -> None:
    alternatives = {"a": (frozenset({"shell:sed"}),), "b": (frozenset({"shell:wc"}), frozenset({"shell:awk"}))}
    assert spare_last(["shell:sed", "shell:wc"], alternatives) == ("shell:wc",)


def test_new_items_stand_before_old_ones_and_nothing_twice() -> None:
    assert Blocked(tools=("b", "c")).and_before(Blocked(tools=("a", "b"))).tools == ("b", "c", "a")


tools = st.sampled_from(["read_file", "glob", "shell:wc", "shell:awk", "shell:python3"])
ways = st.dictionaries(st.sampled_from("abc"), st.lists(st.frozensets(tools, max_size=3), max_size=4).map(tuple))


@settings(deadline=None)
@given(st.lists(tools), ways)
def test_whoever_had_an_alternative_still_has_one(
    candidates: list[str], alternatives: dict[str, tuple[frozenset[str], ...]]
) -> None:
    blocked = spare_last(candidates, alternatives)
    assert set(blocked) <= set(candidates)
    for choices in alternatives.values():
        assert not choices or any(choice.isdisjoint(blocked) for choice in choices)
    for spared in set(candidates) - set(blocked):  # none is spared without need
        wider = {*blocked, spared}
        assert any(choices and not any(way.isdisjoint(wider) for way in choices) for choices in alternatives.values())
