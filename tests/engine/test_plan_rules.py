"""Which plans does the runtime let through, whoever made them?"""

from dataclasses import replace

import pytest
from engine_stage import ScriptedHands, approach, criteria
from test_roles import directive, plan, planned

from earnest.engine.gradient.blocking import Target, TriedApproach
from earnest.engine.messages import PlanDirective, PlannedSubTask, PlanReady, TaskSpec
from earnest.engine.plan_rules import plan_faults, planned_calls
from earnest.engine.ports import PlanningContext

TWICE = (criteria(1)[0],) * 2


def faults(draft: PlanReady, blocked: PlanDirective | None = None, *, matched: tuple[str, ...] = ()) -> tuple[str, ...]:
    spec = TaskSpec(task_class="c", intent="i", raw_input="r")
    context = PlanningContext(spec=spec, round=1, recollections=(), directive=blocked, matched=frozenset(matched))
    return plan_faults(draft, context, ScriptedHands())


def test_a_plan_that_obeys_has_no_faults() -> None:
    assert faults(plan(planned("a"), planned("b", sequence=2), count=2), directive()) == ()


@pytest.mark.parametrize(
    ("draft", "fault"),
    [
        (plan(), "a plan needs at least one subtask"),
        (plan(*(planned(f"s{n}") for n in range(201))), "a plan may have at most 200 subtasks, this one has 201"),
        (plan(planned("a"), planned("a")), "two subtasks have the same id"),
        (plan(planned("../x")), "subtask ../x: its id is not a slug"),
        (plan(planned("a", sequence=0)), "subtask a: its sequence is 0, the first is 1"),
        (plan(planned("a", count=0)), "subtask a: it has no criteria"),
        (plan(replace(planned("a"), criteria=TWICE)), "subtask a: two of its criteria have the same id"),
        (replace(plan(planned("a")), task_criteria=TWICE), "two criteria of the task have the same id"),
        (plan(planned("a"), carried=("b",)), "b is carried over, and is no subtask of the plan"),
        (plan(planned("a"), carried=("a",)), "subtask a: it is carried over, and did not match"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_told_which(draft: PlanReady, fault: str) -> None:
    assert faults(draft) == (fault,)


def test_every_broken_rule_is_named_at_once() -> None:
    assert len(faults(plan(planned("a", sequence=0, count=0), planned("a")))) == 3


def test_nothing_is_carried_over_what_is_worked_anew() -> None:
    draft = plan(planned("a"), planned("b", sequence=2), carried=("b",))
    assert faults(draft, matched=("b",)) == ("subtask b: it is carried over, and a subtask before it is worked anew",)


BLOCKED = directive(
    blocked_tools=("shell:awk",),
    blocked_targets=(Target(tool="shell:wc", target="gone"),),
    blocked_approaches=(TriedApproach(subtask="a", approach="sed"),),
)


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        (approach("awk"), "subtask a: it uses the blocked tool shell:awk"),
        (approach("wc", on="gone"), "subtask a: it uses the blocked target gone"),
        (approach("sed"), "subtask a: it takes the blocked approach sed"),
    ],
)
def test_what_is_blocked_is_not_planned_unless_it_is_only_carried(way: object, fault: str) -> None:
    work: PlannedSubTask = replace(planned("a"), approach=way)  # type: ignore[arg-type]
    assert faults(plan(work), BLOCKED) == (fault,)
    assert faults(plan(work)) == ()
    assert faults(plan(work, carried=("a",)), BLOCKED, matched=("a",)) == ()


def test_corrections_are_planned_calls_too() -> None:
    assert len(planned_calls(approach("wc", corrections=2))) == 3
    assert planned_calls(None) == ()
