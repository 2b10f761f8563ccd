"""R1 and R2 of a playbook: it says what it wants, and its planner chooses one approach per subtask.

What memory recommends comes first, nothing that is blocked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from earnest.contracts.playbook import Approach, Playbook, Subtask
from earnest.engine.gradient.blocking import TriedApproach
from earnest.engine.messages import Alternatives, PlannedSubTask, PlanningFailed, PlanReady, TaskRequested, TaskSpec
from earnest.engine.plan_rules import planned_calls, targets
from earnest.engine.ports import Hands, PlanningContext, RoleModel
from earnest.engine.recollection import Recollection
from earnest.memory.megram import Tag, approach_tag
from earnest.memory.potential import Advice, Potentials

NO_EXPERIENCE: Final = Potentials(attention=0.0, decision=0.0)

COMBINATIONS_MAX: Final = 10_000
"""How many combinations of approaches are looked through for an untried one."""

Choice = tuple[Approach, ...]
"""One approach a subtask, in the order of the playbook."""


class PlaybookPerceiver:
    """The mind of R1 for a playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook

    async def perceive(self, request: TaskRequested, _model: RoleModel) -> TaskSpec:
        """Intent and task class as the playbook states them."""
        return TaskSpec(task_class=self._playbook.task_class, intent=self._playbook.intent, raw_input=request.raw_input)


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
        matched = frozenset(_way(s.id, s.approach) for s in planned if s.approach and s.id in context.matched)
        failed = frozenset(_way(s.id, s.approach) for s in planned if s.approach and s.id in context.failed)
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
            failed = _way(subtask.id, approach) in self._failed
            return failed, not preferred, not given.rules, -given.potentials.decision if preferred else 0.0

        allowed = [a for a in subtask.approaches if self._may_stand(subtask, a, context)]
        avoided = [a for a in allowed if experience[a.id].action is Advice.AVOID]
        if all(a in avoided or _way(subtask.id, a) in self._failed for a in allowed):
            avoided = []
        return Options(
            subtask=subtask,
            approaches=tuple(sorted((a for a in allowed if a not in avoided), key=rank)),
            left_out=tuple(avoided),
            experience=experience,
        )

    def _may_stand(self, subtask: Subtask, approach: Approach, context: PlanningContext) -> bool:
        """True for what is not blocked, and for what has matched and may be carried over."""
        return _way(subtask.id, approach) in self._matched or not self._is_blocked(subtask, approach, context)

    def _is_blocked(self, subtask: Subtask, approach: Approach, context: PlanningContext) -> bool:
        directive = context.directive
        if directive is None:
            return False
        if _way(subtask.id, approach) in directive.blocked_approaches:
            return True
        return any(
            self._hands.tool_ids(call) & frozenset(directive.blocked_tools)
            or targets(self._hands, call) & frozenset(directive.blocked_targets)
            for call in planned_calls(approach)
        )

    def _undrafted(self, context: PlanningContext, options: Sequence[Options]) -> Iterator[Choice]:
        """What is blocked may be carried over, and not be worked anew because something before it changes."""
        blocked = {
            _way(one.subtask.id, a)
            for one in options
            for a in one.approaches
            if self._is_blocked(one.subtask, a, context)
        }
        for choice in islice(product(*(one.approaches for one in options)), COMBINATIONS_MAX):
            if _ids(choice) not in self._drafted:
                carried = self._carried(choice)
                taken = {_way(s.id, a) for s, a in self._pairs(choice) if s.id not in carried}
                if taken.isdisjoint(blocked):
                    yield choice

    def _pairs(self, choice: Choice) -> Iterator[tuple[Subtask, Approach]]:
        return zip(self._playbook.subtasks, choice, strict=True)

    def _carried(self, choice: Choice) -> tuple[str, ...]:
        """Matched subtasks whose approach stays and before which nothing changes: their outcomes stand."""
        stays = {s.id for s, a in self._pairs(choice) if _way(s.id, a) in self._matched}
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
                if other is not chosen and _way(subtask.id, other) not in self._tried
            ),
        )

    def _tools(self, approach: Approach) -> tuple[str, ...]:
        return tuple(sorted({name for call in planned_calls(approach) for name in self._hands.tool_ids(call)}))


def _way(subtask: str, approach: Approach) -> TriedApproach:
    return TriedApproach(subtask=subtask, approach=approach.id)


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
