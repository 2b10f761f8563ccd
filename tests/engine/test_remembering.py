"""Is R7 the only writer, is a rule blamed only for what was done by it, and do rules bind a playbook's plan?"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from engine_stage import Stage, approach, playbook, subtask

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.codec import SENDERS
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.lessons import Lesson
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion
from earnest.engine.gradient.trajectory import Observation
from earnest.engine.memory_messages import (
    FeedbackGiven,
    ForgetRequested,
    MegramEmitted,
    MegramWithdrawn,
    MemoryRecalled,
    Recollection,
    RememberRequested,
    Rule,
)
from earnest.engine.messages import PlanningFailed, PlanReady, Role, TaskSpec
from earnest.engine.playbook import PlaybookPlanner
from earnest.engine.ports import PlanningContext, RoleModel
from earnest.engine.remembering import SESSION, answer, dissonances, preferring
from earnest.foundation.failures import FailureClass
from earnest.memory.megram import NOTES, RECALL_MAX, Level, Tag, approach_tag, intent_tag
from earnest.memory.potential import Advice, Potentials

INTENT = intent_tag("counting")
NOTHING = Potentials(attention=0.0, decision=0.0)
PREFER = Rule(id="rule_1", text="prefer wc", avoid=False)
AVOID = Rule(id="rule_2", text="never awk", avoid=True)
GIVEN = Recollection(tag=INTENT, potentials=NOTHING, rules=(PREFER, AVOID))


def plan(*rules: str) -> PlanReady:
    return PlanReady(round=2, task_criteria=(), subtasks=(), rules=rules)


def observed(failure: FailureClass) -> Observation:
    judged = JudgedCriterion(criterion="C1", subtask="count", answer=CriterionState.FAIL, failure_class=failure)
    return Observation(judged=(judged,), elapsed_ms=0)


def blamed(
    *rules: str, failure: FailureClass = FailureClass.LOGICAL, lessons: tuple[Lesson, ...] = ()
) -> dict[str, Lesson]:
    return dict(dissonances(plan(*rules), preferring([GIVEN]), observed(failure), lessons, Constants()))


def test_a_rule_that_was_followed_into_a_logical_failure_gets_a_lesson_against_it() -> None:
    found = blamed("rule_1")
    assert (found["rule_1"].state, found["rule_1"].tag) == (MacroState.CHANGE_APPROACH, INTENT)


def test_neither_the_environment_nor_an_unfollowed_nor_a_forbidding_rule_is_blamed() -> None:
    assert blamed("rule_1", failure=FailureClass.ENVIRONMENTAL) == {}
    assert blamed() == {}
    assert blamed("rule_2", "rule_of_nobody") == {}


def test_a_pair_that_the_round_teaches_about_gets_no_second_lesson() -> None:
    taught = Lesson(state=MacroState.ABANDON, tag=INTENT, content="x")
    assert blamed("rule_1", lessons=(taught,)) == {}


def test_what_a_user_had_remembered_is_not_blamed() -> None:
    assert preferring([replace(GIVEN, tag=NOTES)]) == {}


@pytest.mark.parametrize("avoid", [False, True])
def test_r7_makes_a_rule_of_a_users_words(avoid: bool) -> None:
    said = answer(request(RememberRequested(text=" tabs ", tag=NOTES, avoid=avoid)), 7)
    assert isinstance(said.payload, MegramEmitted)
    assert (said.sender, said.causation_id, said.payload.megram_id) == (Role.R7, "note_1", "note_1")
    lesson = said.payload.lesson
    assert (lesson.level, lesson.content) == (Level.C, "tabs")
    assert lesson.state is (MacroState.ABANDON if avoid else MacroState.ACCEPT)


@pytest.mark.parametrize("is_good", [False, True])
def test_r7_makes_a_megram_of_a_verdict_that_others_gave(is_good: bool) -> None:
    given = FeedbackGiven(job="Add up", task_class="counting", criteria=("it adds",), is_good=is_good, why="so it is")
    said = answer(request(given), 7)
    assert isinstance(said.payload, MegramEmitted)
    lesson = said.payload.lesson
    assert (lesson.tag, lesson.level, lesson.content) == (INTENT, Level.M, "Add up: so it is Criteria: it adds")
    assert lesson.state is (MacroState.ACCEPT if is_good else MacroState.CHANGE_APPROACH)


def test_r7_withdraws_what_a_user_wants_forgotten() -> None:
    assert answer(request(ForgetRequested(megram_id="m1")), 7).payload == MegramWithdrawn(megram_id="m1")


def request(payload: object) -> Envelope:
    return Envelope(id="note_1", run_id=SESSION, sender=Role.USER, causation_id=None, at_ms=1, payload=payload)


def test_only_r7_writes_memory() -> None:
    assert SENDERS[MegramEmitted] == SENDERS[MegramWithdrawn] == {Role.R7}


@pytest.mark.parametrize(
    ("rules", "decision", "action"),
    [((AVOID,), 5.0, Advice.AVOID), ((PREFER, AVOID), -5.0, Advice.EXPLOIT), ((), 5.0, Advice.EXPLOIT)],
)
def test_the_newest_rule_outranks_potentials(rules: tuple[Rule, ...], decision: float, action: Advice) -> None:
    potentials = Potentials(attention=9.0, decision=decision)
    assert Recollection(tag=INTENT, potentials=potentials, rules=rules).action is action


class Rules:
    """A memory that has rules about approaches of `count`."""

    def __init__(self, **rules: Rule) -> None:
        self._rules = {approach_tag("counting", "count", name): (rule,) for name, rule in rules.items()}

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        return tuple(Recollection(tag=tag, potentials=NOTHING, rules=self._rules.get(tag, ())) for tag in tags)


async def test_a_rule_binds_a_playbooks_plan_is_named_in_it_and_its_recall_is_told() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), approach("awk"), approach("python"))))
    stage.recall = Rules(wc=AVOID, python=PREFER)  # type: ignore[assignment]
    await stage.work()
    made = stage.only(PlanReady)
    assert made.subtasks[0].approach == approach("python")
    assert made.rules == ("rule_1",)
    assert made.notes == (
        "count: wc is left out, memory says to avoid it (rule rule_2)",
        "count: python is preferred, it has worked before (rule rule_1)",
    )
    assert stage.only(MemoryRecalled) == MemoryRecalled(megram_ids=("rule_2", "rule_1"))


class Remembers(PlaybookPlanner):
    """A planner that was told of a rule about the whole task, and of more contents than are allowed."""

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        return (INTENT,)

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady | PlanningFailed:
        made = await super().plan(context, model)
        if isinstance(made, PlanningFailed):
            return made
        return replace(made, rules=("rule_1",), recalled=tuple(f"m{number}" for number in range(12)))


class Knows:
    """A memory with one rule about the whole task."""

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        return tuple(replace(GIVEN, tag=tag) if tag == INTENT else replace(GIVEN, tag=tag, rules=()) for tag in tags)


async def test_a_rule_that_failed_is_blamed_once_a_run_and_recalls_are_bounded() -> None:
    book = playbook(subtask("count", approach("wc"), approach("awk"), approach("python")))
    stage = Stage(book, script={"r3/*": "pass", "*": "logical"})
    stage.recall, stage.planner = Knows(), Remembers(book, stage.hands)  # type: ignore[assignment]
    await stage.work()
    lessons = [emitted.lesson for emitted in stage.of(MegramEmitted)]
    assert [lesson.state for lesson in lessons if "rule_1" in lesson.content] == [MacroState.CHANGE_APPROACH]
    by_rule, *by_plan = stage.of(MemoryRecalled)
    assert by_rule.megram_ids == ("rule_1", "rule_2")
    assert [len(told.megram_ids) for told in by_plan] == [RECALL_MAX] * 3
