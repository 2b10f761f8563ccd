"""R2's mind: it tells the model what is known, reads the draft, and sends a faulty one back once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from earnest.contracts.criterion import CheckFaults, Criterion
from earnest.effects.outside.llm.fencing import Data, told
from earnest.engine.gradient.cascade import MacroState, Urgency
from earnest.engine.gradient.lessons import SUMMARY
from earnest.engine.impossibility import ImpossibilityClaim, claim_of
from earnest.engine.memory_messages import Recollection, Rule
from earnest.engine.messages import Alternatives, PlanDirective, PlannedSubTask, PlanningFailed, PlanReady, TaskSpec
from earnest.engine.model.calling import ToolOffer
from earnest.engine.model.plan_reading import PLAN_SCHEMA, PlanReader, named_rules
from earnest.engine.model.prompting import listed, persona_parts, prompt, said, told_criterion
from earnest.engine.picture import Look, Picture, picture_parts, unseen
from earnest.engine.ports import PlanningContext, RoleModel, Unanswered
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Faulty
from earnest.foundation.text import printable
from earnest.memory.megram import NOTES, RECALL_MAX, Tag, intent_tag, tool_tag
from earnest.memory.potential import Advice

FAULTS_MAX: Final = 20
REASON_CHARACTERS_MAX: Final = 500
NOTE_CHARACTERS_MAX: Final = 300
RULES_MAX: Final = 50
HYPOTHESES_MAX: Final = 5
CONTENT_CHARACTERS_MAX: Final = 1_000
LIST_CHARACTERS_MAX: Final = 20_000

_DIRECTIONS: Final[Mapping[MacroState, str]] = {
    MacroState.REFINE: "The approach is right and gets somewhere. Keep it, and tighten it: other inputs or parameters "
    "than those that failed.",
    MacroState.CHANGE_PATH: "The approach is right, but the environment is in the way. Keep the approach and take "
    "another path: other files, sources or targets than those that failed.",
    MacroState.CHANGE_APPROACH: "The approach is wrong. Choose another method for what failed, no variant of the last "
    "one.",
    MacroState.BREAK_SYMMETRY: "The approach is wrong and nothing moves. Choose tools of another kind than all that "
    "were used for what failed, and doubt what the last plan took for granted.",
}
_URGENCIES: Final[Mapping[Urgency, str]] = {
    Urgency.LOW: "Things improve: keep the shape of the last plan.",
    Urgency.NORMAL: "Change as much as that takes and no more.",
    Urgency.HIGH: "Things get worse: make the plan smaller, with only what the task cannot do without.",
}
_LEANINGS: Final[Mapping[Advice, str]] = {
    Advice.EXPLOIT: "SHOULD PREFER: went well",
    Advice.AVOID: "MUST NOT be done as before: went badly",
    Advice.CAUTION: "CAUTION: went now well, now badly; take small steps and check each",
}


@dataclass(slots=True, kw_only=True)
class ModelPlanner:
    """The mind of R2, one per run: it counts the subtasks that it has named, so that no id means two of them.

    `today` is the ISO date on which the run began; `check_faults` says what is wrong with a check of a draft; the
    `standing` criteria are added to those of the task, whatever is planned.
    """

    today: str
    offers: Sequence[ToolOffer]
    check_faults: CheckFaults
    persona: str = ""
    look: Look = unseen
    standing: Sequence[Criterion] = ()
    _named: int = field(default=0, init=False)
    _sent_back_in: tuple[int, int] = field(default=(0, 0), init=False)

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """The class of task, how its runs went in words, the user's notes, each tool."""
        intent = intent_tag(spec.task_class)
        tools = (tool_tag(offer.name) for offer in self.offers)
        return intent, Tag(space=intent.space, entity=SUMMARY), NOTES, *tools

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady | PlanningFailed | ImpossibilityClaim:
        """See `Planner`. A draft goes back once a round, and again once the user has amended it, whoever objects; after

        that there is no plan.
        """
        objections, place = context.objections, (context.round, len(context.remarks))
        if objections and self._sent_back_in == place:
            return _failed(context, objections)
        turns = [told(*persona_parts(self.persona), *self._parts(context, await self.look()))]
        while True:
            try:
                answer = await model.ask(prompt("planner").question(PLAN_SCHEMA, *turns))
            except Unanswered as error:
                return _failed(context, [f"the model gave no plan: {error}"])
            if claim := claim_of(answer.get("impossible")):
                self._sent_back_in = place if objections else self._sent_back_in
                return claim
            try:
                return self._plan(replace(context, objections=objections), answer)
            except Faulty as faulty:
                faults = [diagnostic.message for diagnostic in faulty.diagnostics[:FAULTS_MAX]]
            if objections:
                return _failed(context, faults)
            objections, self._sent_back_in = tuple(faults), place
            turns += [said(answer), told(*_turned_down(faults))]

    def _parts(self, context: PlanningContext, picture: Picture) -> Iterator[str | Data]:
        """All that the model is shown, in order."""
        spec = context.spec
        yield f"Today is {self.today}."
        yield Data(name="task", text=spec.intent)
        yield Data(name="request in the user's own words", text=spec.raw_input, characters_max=LIST_CHARACTERS_MAX)
        limits = [f"limited to: {spec.scope}"] if spec.scope else []
        limits += [f"to be done by: {spec.deadline}"] if spec.deadline else []
        yield from _list("limits", limits)
        yield from _list("criteria of the user that are added to yours", map(told_criterion, self.standing))
        yield from picture_parts(picture)
        yield from _list("tools of those who do the work", (f"{offer.name}: {offer.purpose}" for offer in self.offers))
        yield from _memory(context)
        if context.previous is not None and context.directive is not None:
            yield from _replan(context, context.previous, context.directive)
        yield from _said(context)
        yield from _turned_down(context.objections)
        yield "Plan now."

    def _plan(self, context: PlanningContext, answer: JsonObject) -> PlanReady:
        reader = PlanReader(
            context=context,
            first_number=self._named + 1,
            check_faults=self.check_faults,
            standing=self.standing,
        )
        plan = reader.plan(answer)
        self._named += len(plan.subtasks)
        rules = _rules_by_name(context.recollections)
        followed = [rules[name] for name in named_rules(answer, rules)]
        notes = [f"{'avoids' if rule.avoid else 'prefers'} what {rule.id} says: {rule.text}" for rule in followed]
        notes += _leanings(context.recollections)
        return replace(
            plan,
            alternatives=tuple(self._alternatives(subtask.id) for subtask in plan.subtasks),
            rules=tuple(rule.id for rule in followed),
            remarks=len(context.remarks),
            recalled=tuple(_recalled(context.recollections)),
            notes=tuple(printable(note[:NOTE_CHARACTERS_MAX]) for note in notes),
        )

    def _alternatives(self, subtask_id: str) -> Alternatives:
        """Who is free to combine has one way for each tool there is."""
        tools = tuple(sorted(offer.name for offer in self.offers))
        return Alternatives(subtask_id=subtask_id, chosen=tools, untried=tuple((tool,) for tool in tools))


def _failed(context: PlanningContext, reasons: Iterable[str]) -> PlanningFailed:
    told_of = tuple(printable(reason[:REASON_CHARACTERS_MAX]) for reason in reasons)
    return PlanningFailed(round=context.round, reasons=told_of, exhausted=False)


def _turned_down(objections: Iterable[str]) -> Iterator[str | Data]:
    """Why a draft is no plan."""
    reasons = tuple(objections)
    if reasons:
        yield "Your draft breaks rules and was turned down. Give the whole plan again without these faults:"
        yield from _list("faults", reasons)


def _rules_by_name(recollections: Iterable[Recollection]) -> Mapping[str, Rule]:
    """R1, R2, …: the names under which a planner sees memory's rules, each rule once."""
    rules = {rule.id: rule for recollection in recollections for rule in recollection.rules}
    return {f"R{number}": rule for number, rule in enumerate(islice(rules.values(), RULES_MAX), start=1)}


def _recalled(recollections: Iterable[Recollection]) -> Mapping[str, str]:
    """The contents that go into a plan, by the ids of their entries."""
    contents = {
        entry: content
        for recollection in recollections
        for entry, content in zip(recollection.content_ids, recollection.contents, strict=True)
    }
    return dict(islice(contents.items(), RECALL_MAX))


def _leanings(recollections: Iterable[Recollection]) -> tuple[str, ...]:
    """What experience prefers, forbids or calls mixed, a line a tag; tags without experience are left out."""
    return tuple(
        f"{one.tag.space} {one.tag.entity}: {_LEANINGS[one.action]}" for one in recollections if one.action in _LEANINGS
    )


def _memory(context: PlanningContext) -> Iterator[str | Data]:
    """Rules, what happened lately, where it leans; untried ideas only to break symmetry (spec engine, memory)."""
    recollections = context.recollections
    rules = _rules_by_name(recollections)
    if rules:
        yield "Memory's rules bind the plan:"
        words = (f"{name} {'MUST NOT' if rule.avoid else 'SHOULD PREFER'}: {rule.text}" for name, rule in rules.items())
        yield from _list("rules of memory", words)
    contents = map(_cut, _recalled(recollections).values())
    yield from _list("what earlier tasks left to remember, the newest of each kind first", contents)
    yield from _list("how earlier tasks went", _leanings(recollections))
    if context.directive is not None and context.directive.directive is MacroState.BREAK_SYMMETRY:
        ideas = (idea for recollection in recollections for idea in recollection.hypotheses)
        yield from _list("ideas that nobody has tried", map(_cut, islice(dict.fromkeys(ideas), HYPOTHESES_MAX)))


def _replan(context: PlanningContext, previous: PlanReady, directive: PlanDirective) -> Iterator[str | Data]:
    yield "The last plan did not reach the goal. Its task criteria stand; plan the subtasks anew. What became of it:"
    yield from _list("task criteria", map(told_criterion, previous.task_criteria))
    yield from _list("last plan", (_became(subtask, context) for subtask in previous.subtasks))
    yield f"{_DIRECTIONS[directive.directive]} {_URGENCIES[directive.urgency]}"
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
