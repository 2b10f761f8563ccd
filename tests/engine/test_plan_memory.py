"""What those who work a subtask are told of memory, and what of it binds a plan."""

from dataclasses import replace

from earnest.contracts.playbook import Approach
from earnest.engine.memory_messages import Recollection, Rule
from earnest.engine.messages import PlannedSubTask, PlanReady
from earnest.engine.roles.planner import MEMORY_HEAD, MEMORY_LINE_CHARACTERS_MAX, MEMORY_LINES_MAX, with_memory
from earnest.memory.megram import approach_tag, intent_tag, tool_tag
from earnest.memory.potential import Potentials

BAD = Potentials(attention=1.0, decision=-1.0)
NOTHING = Potentials(attention=0.0, decision=0.0)
SUBTASK = PlannedSubTask(id="s1", sequence=1, intent="count", criteria=(), context="the file is a.txt")
PLAN = PlanReady(round=1, task_criteria=(), subtasks=(SUBTASK,))
RULE = Rule(id="m1", text="count by wc", avoid=False)
KNOWN = (
    Recollection(tag=tool_tag("shell"), potentials=BAD, contents=("wc failed\non a.txt",), content_ids=("m2",)),
    Recollection(tag=intent_tag("count"), potentials=NOTHING, rules=(RULE,)),
    Recollection(tag=tool_tag("glob"), potentials=NOTHING),
)


def told(plan: PlanReady, *known: Recollection) -> list[str]:
    return with_memory(plan, "count", known).subtasks[0].context.splitlines()


def test_a_subtasks_context_holds_what_memory_says_after_its_own() -> None:
    assert told(PLAN, *KNOWN) == [
        "the file is a.txt",
        MEMORY_HEAD,
        "- SHOULD PREFER: count by wc",
        "- tool:shell path:* went badly: wc failed\\x0aon a.txt",
    ]
    assert told(PLAN) == ["the file is a.txt"]


def test_a_kept_subtask_is_told_once_and_one_whose_outcome_stands_nothing() -> None:
    once = with_memory(PLAN, "count", KNOWN)
    assert with_memory(once, "count", KNOWN) == once
    assert with_memory(replace(PLAN, carried=("s1",)), "count", KNOWN).subtasks == (SUBTASK,)


def test_of_approaches_only_the_chosen_one_is_told_of() -> None:
    ways = [Recollection(tag=approach_tag("count", "s1", name), potentials=BAD) for name in ("wc", "python")]
    chosen = replace(SUBTASK, context="", approach=Approach(id="python", steps=()))
    lines = told(replace(PLAN, subtasks=(chosen,)), *ways)
    assert lines == [MEMORY_HEAD, "- approach:count/s1 approach:python went badly"]


def test_what_is_told_has_bounds() -> None:
    rules = tuple(Rule(id=f"m{number}", text="x" * 5_000, avoid=True) for number in range(50))
    lines = told(PLAN, Recollection(tag=intent_tag("count"), potentials=NOTHING, rules=rules))
    assert len(lines) == 2 + MEMORY_LINES_MAX
    assert max(map(len, lines)) == MEMORY_LINE_CHARACTERS_MAX
