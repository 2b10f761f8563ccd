"""What a planner is told: the task, what memory has to say, the fate of the last plan, where to steer."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.outside.llm.fencing import Data
from earnest.engine.gradient.cascade import MacroState, Urgency
from earnest.engine.messages import PlanDirective, PlannedSubTask, PlanReady
from earnest.engine.model.criterion_telling import told_criterion
from earnest.engine.model.offers import ToolOffer
from earnest.engine.model.picture_telling import picture_parts
from earnest.engine.model.prompting import listed
from earnest.engine.picture import Picture
from earnest.engine.ports import PlanningContext
from earnest.engine.recollection import Recollection, Rule
from earnest.memory.megram import RECALL_MAX
from earnest.memory.potential import Advice

RULES_MAX: Final = 50
HYPOTHESES_MAX: Final = 5
CONTENT_CHARACTERS_MAX: Final = 1_000
LIST_CHARACTERS_MAX: Final = 20_000

DIRECTIONS: Final[Mapping[MacroState, str]] = {
    MacroState.REFINE: "The approach is right and gets somewhere. Keep it, and tighten it: other inputs or "
    "parameters than "
    "those that failed.",
    MacroState.CHANGE_PATH: "The approach is right, but the environment is in the way. Keep the approach and take "
    "another "
    "path: other files, sources or targets than those that failed.",
    MacroState.CHANGE_APPROACH: "The approach is wrong. Choose another method for what failed, no variant of the "
    "last one.",
    MacroState.BREAK_SYMMETRY: "The approach is wrong and nothing moves. Choose tools of another kind than all that "
    "were "
    "used for what failed, and doubt what the last plan took for granted.",
}
URGENCIES: Final[Mapping[Urgency, str]] = {
    Urgency.LOW: "Things improve: keep the shape of the last plan.",
    Urgency.NORMAL: "Change as much as that takes and no more.",
    Urgency.HIGH: "Things get worse: make the plan smaller, with only what the task cannot do without.",
}
LEANINGS: Final[Mapping[Advice, str]] = {
    Advice.EXPLOIT: "SHOULD PREFER: went well",
    Advice.AVOID: "MUST NOT be done as before: went badly",
    Advice.CAUTION: "CAUTION: went now well, now badly; take small steps and check each",
}


def planning_parts(
    context: PlanningContext,
    offers: Iterable[ToolOffer],
    today: str,
    picture: Picture,
    standing: Iterable[Criterion] = (),
) -> Iterator[str | Data]:
    """All that the model is shown, in order."""
    spec = context.spec
    yield f"Today is {today}."
    yield Data(name="task", text=spec.intent)
    yield Data(name="request in the user's own words", text=spec.raw_input, characters_max=LIST_CHARACTERS_MAX)
    limits = [f"limited to: {spec.scope}"] if spec.scope else []
    limits += [f"to be done by: {spec.deadline}"] if spec.deadline else []
    yield from _list("limits", limits)
    yield from _list("criteria of the user that are added to yours", map(told_criterion, standing))
    yield from picture_parts(picture)
    yield from _list("tools of those who do the work", (f"{offer.name}: {offer.purpose}" for offer in offers))
    yield from _memory(context)
    if context.previous is not None and context.directive is not None:
        yield from _replan(context, context.previous, context.directive)
    yield from _said(context)
    yield from turned_down(context.objections)
    yield "Plan now."


def turned_down(objections: Iterable[str]) -> Iterator[str | Data]:
    """Why a draft is no plan."""
    reasons = tuple(objections)
    if reasons:
        yield "Your draft breaks rules and was turned down. Give the whole plan again without these faults:"
        yield from _list("faults", reasons)


def rules_by_name(recollections: Iterable[Recollection]) -> Mapping[str, Rule]:
    """R1, R2, …: the names under which a planner sees memory's rules, each rule once."""
    rules = {rule.id: rule for recollection in recollections for rule in recollection.rules}
    return {f"R{number}": rule for number, rule in enumerate(islice(rules.values(), RULES_MAX), start=1)}


def recalled(recollections: Iterable[Recollection]) -> Mapping[str, str]:
    """The contents that go into a plan, by the ids of their entries."""
    contents = {
        entry: content
        for recollection in recollections
        for entry, content in zip(recollection.content_ids, recollection.contents, strict=True)
    }
    return dict(islice(contents.items(), RECALL_MAX))


def leanings(recollections: Iterable[Recollection]) -> tuple[str, ...]:
    """What experience prefers, forbids or calls mixed, a line a tag; tags without experience are left out."""
    return tuple(
        f"{one.tag.space} {one.tag.entity}: {LEANINGS[one.action]}" for one in recollections if one.action in LEANINGS
    )


def _memory(context: PlanningContext) -> Iterator[str | Data]:
    """Rules, what happened lately, where it leans; untried ideas only to break symmetry (spec engine, memory)."""
    recollections = context.recollections
    rules = rules_by_name(recollections)
    if rules:
        yield "Memory's rules bind the plan:"
        words = (f"{name} {'MUST NOT' if rule.avoid else 'SHOULD PREFER'}: {rule.text}" for name, rule in rules.items())
        yield from _list("rules of memory", words)
    contents = map(_cut, recalled(recollections).values())
    yield from _list("what earlier tasks left to remember, the newest of each kind first", contents)
    yield from _list("how earlier tasks went", leanings(recollections))
    if context.directive is not None and context.directive.directive is MacroState.BREAK_SYMMETRY:
        ideas = (idea for recollection in recollections for idea in recollection.hypotheses)
        yield from _list("ideas that nobody has tried", map(_cut, islice(dict.fromkeys(ideas), HYPOTHESES_MAX)))


def _replan(context: PlanningContext, previous: PlanReady, directive: PlanDirective) -> Iterator[str | Data]:
    yield "The last plan did not reach the goal. Its task criteria stand; plan the subtasks anew. What became of it:"
    yield from _list("task criteria", map(told_criterion, previous.task_criteria))
    yield from _list("last plan", (_became(subtask, context) for subtask in previous.subtasks))
    yield f"{DIRECTIONS[directive.directive]} {URGENCIES[directive.urgency]}"
    yield from _list(
        "why", [directive.rationale, f"the heaviest criterion that is not met: {directive.failed_criterion}"]
    )
    yield from _list(
        "criteria that are not met", (f"{one.scope}: {one.text}: {_cut(one.reason)}" for one in directive.unmet)
    )
    blocked = [f"the tool {tool}" for tool in directive.blocked_tools]
    blocked += [f"{target.tool} on {target.target}" for target in directive.blocked_targets]
    if blocked:
        yield "The plan MUST NOT use:"
        yield from _list("blocked", blocked)


def _said(context: PlanningContext) -> Iterator[str | Data]:
    """The user's remarks, and the draft that the newest is about."""
    if context.draft is not None:
        yield "The user was shown your draft before the work begins:"
        yield from _list("task criteria of the draft", map(told_criterion, context.draft.task_criteria))
        yield from _list("draft", (_told_subtask(subtask) for subtask in context.draft.subtasks))
    if context.remarks:
        moved = " Give the task criteria anew where they say so." if context.may_move_goal else ""
        yield f"The user's remarks, the newest last, bind plan and criteria like the request; keep all else.{moved}"
    yield from _list("remarks", context.remarks)


def _told_subtask(subtask: PlannedSubTask) -> str:
    return f"{subtask.intent} Criteria: {'; '.join(map(told_criterion, subtask.criteria))}"


def _became(subtask: PlannedSubTask, context: PlanningContext) -> str:
    state = "matched" if subtask.id in context.matched else "failed" if subtask.id in context.failed else "not run"
    return f"{subtask.id} (sequence {subtask.sequence}, {state}): {_told_subtask(subtask)}"


def _cut(text: str) -> str:
    return text[:CONTENT_CHARACTERS_MAX]


def _list(name: str, items: Iterable[str]) -> Iterator[Data]:
    text = listed(items)
    if text:
        yield Data(name=name, text=text, characters_max=LIST_CHARACTERS_MAX)
