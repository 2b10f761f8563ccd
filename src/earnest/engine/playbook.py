"""The minds of a run that needs no model: they read a playbook where others would ask one.

The planner chooses one approach per subtask: what memory recommends comes first, nothing that is blocked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from earnest.contracts.playbook import Approach, Playbook, Subtask
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.gradient.blocking import TriedApproach
from earnest.engine.memory_messages import Recollection
from earnest.engine.messages import (
    Alternatives,
    CorrectionSignal,
    PlannedSubTask,
    PlanningFailed,
    PlanReady,
    SubTask,
    SubTaskStatus,
    TaskRequested,
    TaskSpec,
)
from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.engine.plan_rules import blocking_faults, planned_calls, tool_call, way_of
from earnest.engine.ports import Assertion, GuardedTools, Hands, ModelReply, PlanningContext, Question, RoleModel
from earnest.foundation.errors import Broken
from earnest.memory.megram import Tag, approach_tag
from earnest.memory.potential import Advice, Potentials

NO_EXPERIENCE: Final = Potentials(attention=0.0, decision=0.0)

COMBINATIONS_MAX: Final = 10_000
"""How many combinations of approaches are looked through for an untried one."""

Choice = tuple[Approach, ...]
"""One approach a subtask, in the order of the playbook."""


@dataclass(frozen=True, slots=True)
class PlaybookPerceiver:
    """The mind of R1 for a playbook."""

    playbook: Playbook

    async def perceive(self, request: TaskRequested, _model: RoleModel) -> TaskSpec:
        """Intent and task class as the playbook states them."""
        return TaskSpec(task_class=self.playbook.task_class, intent=self.playbook.intent, raw_input=request.raw_input)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may be done for one subtask, best first, and what memory says of its approaches by their ids."""

    subtask: Subtask
    approaches: Choice
    left_out: Choice
    experience: Mapping[str, Recollection]


class PlaybookPlanner:
    """The mind of R2 for a playbook. One per run: it remembers what it drafted and what became of it."""

    def __init__(self, playbook: Playbook, hands: Hands) -> None:
        self._playbook = playbook
        self._hands = hands
        self._drafted: set[tuple[str, ...]] = set()
        self._tried: set[TriedApproach] = set()
        self._failed: set[TriedApproach] = set()
        self._matched: frozenset[TriedApproach] = frozenset()

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """One tag an approach, in the order of the playbook."""
        return tuple(
            approach_tag(spec.task_class, subtask.id, approach.id)
            for subtask in self._playbook.subtasks
            for approach in subtask.approaches
        )

    async def plan(self, context: PlanningContext, _model: RoleModel) -> PlanReady | PlanningFailed:
        """The first untried combination of allowed approaches.

        What failed in this run comes after what did not, and of several changes the later subtask's is made.
        """
        self._take_in(context)
        known = {recollection.tag: recollection for recollection in context.recollections}
        options = [self._options(subtask, context, known) for subtask in self._playbook.subtasks]
        spent = [one.subtask.id for one in options if not one.approaches]
        if spent:
            reasons = tuple(f"subtask {subtask_id}: every approach was tried or is blocked" for subtask_id in spent)
            return PlanningFailed(round=context.round, reasons=reasons, exhausted=True)
        choice = next(self._undrafted(context, options), None)
        if choice is None:
            reasons = ("every combination of approaches was tried",)
            return PlanningFailed(round=context.round, reasons=reasons, exhausted=True)
        self._drafted.add(_ids(choice))
        return self._ready(context, options, choice)

    def _take_in(self, context: PlanningContext) -> None:
        planned = context.previous.subtasks if context.previous else ()
        matched = frozenset(way_of(s.id, s.approach) for s in planned if s.approach and s.id in context.matched)
        failed = frozenset(way_of(s.id, s.approach) for s in planned if s.approach and s.id in context.failed)
        self._tried |= matched | failed
        self._failed = (self._failed | failed) - matched
        self._matched = matched

    def _options(self, subtask: Subtask, context: PlanningContext, known: Mapping[Tag, Recollection]) -> Options:
        """What is not blocked; what memory advises against only if nothing else is left that has not failed."""
        tags = {a.id: approach_tag(context.spec.task_class, subtask.id, a.id) for a in subtask.approaches}
        experience = {
            approach: known.get(tag) or Recollection(tag=tag, potentials=NO_EXPERIENCE)
            for approach, tag in tags.items()
        }

        def rank(approach: Approach) -> tuple[bool, bool, bool, float]:
            given = experience[approach.id]
            preferred = given.action is Advice.EXPLOIT
            failed = way_of(subtask.id, approach) in self._failed
            return failed, not preferred, not given.rules, -given.potentials.decision if preferred else 0.0

        allowed = [a for a in subtask.approaches if self._may_stand(subtask, a, context)]
        avoided = [a for a in allowed if experience[a.id].action is Advice.AVOID]
        if all(a in avoided or way_of(subtask.id, a) in self._failed for a in allowed):
            avoided = []
        return Options(
            subtask=subtask,
            approaches=tuple(sorted((a for a in allowed if a not in avoided), key=rank)),
            left_out=tuple(avoided),
            experience=experience,
        )

    def _may_stand(self, subtask: Subtask, approach: Approach, context: PlanningContext) -> bool:
        """True for what is not blocked, and for what has matched and may be carried over."""
        return way_of(subtask.id, approach) in self._matched or not self._is_blocked(subtask, approach, context)

    def _is_blocked(self, subtask: Subtask, approach: Approach, context: PlanningContext) -> bool:
        return any(blocking_faults(subtask.id, approach, context.directive, self._hands))

    def _undrafted(self, context: PlanningContext, options: Sequence[Options]) -> Iterator[Choice]:
        """What is blocked may be carried over, and not be worked anew because something before it changes."""
        blocked = {
            way_of(one.subtask.id, a)
            for one in options
            for a in one.approaches
            if self._is_blocked(one.subtask, a, context)
        }
        for choice in islice(product(*(one.approaches for one in options)), COMBINATIONS_MAX):
            if _ids(choice) not in self._drafted:
                carried = self._carried(choice)
                taken = {way_of(s.id, a) for s, a in self._pairs(choice) if s.id not in carried}
                if taken.isdisjoint(blocked):
                    yield choice

    def _pairs(self, choice: Choice) -> Iterator[tuple[Subtask, Approach]]:
        return zip(self._playbook.subtasks, choice, strict=True)

    def _carried(self, choice: Choice) -> tuple[str, ...]:
        """Matched subtasks whose approach stays and before which nothing changes: their outcomes stand."""
        stays = {s.id for s, a in self._pairs(choice) if way_of(s.id, a) in self._matched}
        subtasks = self._playbook.subtasks
        first_change = min((s.sequence for s in subtasks if s.id not in stays), default=None)
        return tuple(s.id for s in subtasks if s.id in stays and (first_change is None or s.sequence <= first_change))

    def _ready(self, context: PlanningContext, options: Sequence[Options], choice: Choice) -> PlanReady:
        return PlanReady(
            round=context.round,
            task_criteria=self._playbook.criteria,
            subtasks=tuple(
                PlannedSubTask(
                    id=subtask.id,
                    sequence=subtask.sequence,
                    intent=subtask.intent,
                    criteria=subtask.criteria,
                    approach=approach,
                )
                for subtask, approach in self._pairs(choice)
            ),
            alternatives=tuple(self._alternatives(subtask, approach) for subtask, approach in self._pairs(choice)),
            carried=self._carried(choice),
            notes=tuple(n for one, approach in zip(options, choice, strict=True) for n in _notes(one, approach)),
            rules=tuple(
                rule.id
                for one, approach in zip(options, choice, strict=True)
                for rule in one.experience[approach.id].rules
                if not rule.avoid
            ),
        )

    def _alternatives(self, subtask: Subtask, chosen: Approach) -> Alternatives:
        return Alternatives(
            subtask_id=subtask.id,
            chosen=self._tools(chosen),
            untried=tuple(
                self._tools(other)
                for other in subtask.approaches
                if other is not chosen and way_of(subtask.id, other) not in self._tried
            ),
        )

    def _tools(self, approach: Approach) -> tuple[str, ...]:
        return tuple(sorted({name for call in planned_calls(approach) for name in self._hands.tool_ids(call)}))


def _ids(choice: Choice) -> tuple[str, ...]:
    return tuple(approach.id for approach in choice)


def _notes(options: Options, chosen: Approach) -> Iterator[str]:
    """What memory did to the choice, in words."""

    def told(approach: Approach, what: str) -> str:
        given = options.experience[approach.id]
        why = f"rule {given.rules[0].id}" if given.rules else f"decision {given.potentials.decision:+.2f}"
        return f"{options.subtask.id}: {approach.id} {what} ({why})"

    for approach in options.left_out:
        yield told(approach, "is left out, memory says to avoid it")
    match options.experience[chosen.id].action:
        case Advice.EXPLOIT:
            yield told(chosen, "is preferred, it has worked before")
        case Advice.AVOID:
            yield told(chosen, "is tried although memory advises against it, nothing else is left")
        case Advice.CAUTION:
            yield told(chosen, "is taken with caution, experience with it is mixed")
        case Advice.IGNORE:
            pass


class PlaybookExecutor:
    """The mind of R3 for a playbook. A correction takes the next list of the approach's `corrections`."""

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, _model: RoleModel
    ) -> Assertion:
        """Status `failed` names the step that failed; a step with `may_fail` fails without consequence."""
        approach = order.subtask.approach
        if approach is None:
            raise Broken(f"subtask {order.subtask.id} of a playbook has no approach")
        steps = approach.steps if correction is None else approach.corrections[correction.attempt - 1]
        records: list[ToolRecord] = []
        failure = ""
        for number, step in enumerate(steps, start=1):
            record = await tools.call(tool_call(step), step.look)
            records.append(record)
            if not record.ok and not step.may_fail:
                assert record.failure is not None
                failure = f"step {number} ({step.tool}): {record.failure.message}"
                break
        return Assertion(
            status=SubTaskStatus.FAILED if failure else SubTaskStatus.COMPLETED,
            output=records[-1].output_excerpt if records else "",
            reason=failure,
        )


class NoModels:
    """`engine.ports.Models` of a run that asks nobody."""

    async def ask(self, turn: ModelTurn, _question: Question) -> ModelReply:
        """No answer, and no cost."""
        told = ModelAnswered(
            turn=turn,
            model="",
            calls=0,
            prompt_tokens=0,
            completion_tokens=0,
            cost_micro=0,
            duration_ms=0,
            failure="this run has no model",
        )
        return ModelReply(value=None, told=told)
