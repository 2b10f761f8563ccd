"""R2's mind: it tells the model what is known, reads the draft, and sends a faulty one back once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from earnest.contracts.criterion import CheckFaults, Criterion
from earnest.effects.outside.llm.fencing import told
from earnest.engine.gradient.lessons import SUMMARY
from earnest.engine.impossibility import ImpossibilityClaim, claim_of
from earnest.engine.messages import Alternatives, PlanningFailed, PlanReady, TaskSpec
from earnest.engine.model.offers import ToolOffer
from earnest.engine.model.plan_reading import PLAN_SCHEMA, PlanReader, named_rules
from earnest.engine.model.plan_telling import leanings, planning_parts, recalled, rules_by_name, turned_down
from earnest.engine.model.prompting import persona_parts, prompt, said
from earnest.engine.picture import Look, unseen
from earnest.engine.ports import PlanningContext, RoleModel, Unanswered
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Faulty
from earnest.foundation.text import printable
from earnest.memory.megram import NOTES, Tag, intent_tag, tool_tag

FAULTS_MAX: Final = 20
REASON_CHARACTERS_MAX: Final = 500
NOTE_CHARACTERS_MAX: Final = 300


class ModelPlanner:
    """The mind of R2, one per run: it counts the subtasks that it has named, so that no id means two of them.

    `today` is the ISO date on which the run began; `check_faults` says what is wrong with a check of a draft; the
    `standing` criteria are added to those of the task, whatever is planned.
    """

    def __init__(
        self,
        *,
        today: str,
        offers: Sequence[ToolOffer],
        check_faults: CheckFaults,
        persona: str = "",
        look: Look = unseen,
        standing: Sequence[Criterion] = (),
    ) -> None:
        self._standing = tuple(standing)
        self._today = today
        self._look = look
        self._persona = persona
        self._offers = tuple(offers)
        self._check_faults = check_faults
        self._named = 0
        self._sent_back_in = (0, 0)

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """The class of task, how its runs went in words, the user's notes, each tool."""
        intent = intent_tag(spec.task_class)
        tools = (tool_tag(offer.name) for offer in self._offers)
        return intent, Tag(space=intent.space, entity=SUMMARY), NOTES, *tools

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady | PlanningFailed | ImpossibilityClaim:
        """See `Planner`. A draft goes back once a round, and again once the user has amended it, whoever objects; after

        that there is no plan.
        """
        objections, place = context.objections, (context.round, len(context.remarks))
        if objections and self._sent_back_in == place:
            return _failed(context, objections)
        picture = await self._look()
        parts = planning_parts(context, self._offers, self._today, picture, self._standing)
        turns = [told(*persona_parts(self._persona), *parts)]
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
            turns += [said(answer), told(*turned_down(faults))]

    def _plan(self, context: PlanningContext, answer: JsonObject) -> PlanReady:
        reader = PlanReader(
            context=context,
            first_number=self._named + 1,
            check_faults=self._check_faults,
            standing=self._standing,
        )
        plan = reader.plan(answer)
        self._named += len(plan.subtasks)
        rules = rules_by_name(context.recollections)
        followed = [rules[name] for name in named_rules(answer, rules)]
        notes = [f"{'avoids' if rule.avoid else 'prefers'} what {rule.id} says: {rule.text}" for rule in followed]
        notes += leanings(context.recollections)
        return replace(
            plan,
            alternatives=tuple(self._alternatives(subtask.id) for subtask in plan.subtasks),
            rules=tuple(rule.id for rule in followed),
            remarks=len(context.remarks),
            recalled=tuple(recalled(context.recollections)),
            notes=tuple(printable(note[:NOTE_CHARACTERS_MAX]) for note in notes),
        )

    def _alternatives(self, subtask_id: str) -> Alternatives:
        """Who is free to combine has one way for each tool there is."""
        tools = tuple(sorted(offer.name for offer in self._offers))
        return Alternatives(subtask_id=subtask_id, chosen=tools, untried=tuple((tool,) for tool in tools))


def _failed(context: PlanningContext, reasons: Iterable[str]) -> PlanningFailed:
    told_of = tuple(printable(reason[:REASON_CHARACTERS_MAX]) for reason in reasons)
    return PlanningFailed(round=context.round, reasons=told_of, exhausted=False)
