"""A playbook's planner chooses one approach per subtask: what memory recommends first, nothing that is blocked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from earnest.contracts.playbook import Approach, Playbook, Subtask
from earnest.engine.gradient.blocking import TriedApproach
from earnest.engine.messages import Alternatives, PlannedSubTask, PlanningFailed, PlanReady, Recollection, TaskSpec
from earnest.engine.plan_rules import planned_calls, targets
from earnest.engine.ports import Hands, PlanningContext
from earnest.memory.megram import Tag, approach_tag
from earnest.memory.potential import Action, Potentials

COMBINATIONS_MAX: Final = 10_000
"""How many combinations of approaches are looked through for an untried one."""

Choice = tuple[Approach, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The approaches of one subtask that may be taken, best first, and what is to be said about it."""

    approaches: Choice
    notes: tuple[str, ...]


class PlaybookPlanner:
    """The mind of R2 for a playbook."""

    def __init__(self, playbook: Playbook, hands: Hands) -> None:
        self._playbook = playbook
        self._hands = hands
        self._tried: set[tuple[str, ...]] = set()

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """One tag an approach, in the order of the playbook."""
        return tuple(
            approach_tag(spec.task_class, subtask.id, approach.id)
            for subtask in self._playbook.subtasks
            for approach in subtask.approaches
        )

    async def plan(self, context: PlanningContext) -> PlanReady | PlanningFailed:
        """The first untried combination of allowed approaches, changing as few and as late subtasks as possible."""
        candidates = [self._candidates(subtask, context) for subtask in self._playbook.subtasks]
        spent = [s.id for s, c in zip(self._playbook.subtasks, candidates, strict=True) if not c.approaches]
        if spent:
            reasons = tuple(f"subtask {subtask_id}: every approach was tried or is blocked" for subtask_id in spent)
            return PlanningFailed(round=context.round, reasons=reasons, exhausted=True)
        choice = next(self._untried([c.approaches for c in candidates]), None)
        if choice is None:
            reasons = ("every combination of approaches was tried",)
            return PlanningFailed(round=context.round, reasons=reasons, exhausted=True)
        self._tried.add(tuple(approach.id for approach in choice))
        notes = tuple(note for candidate in candidates for note in candidate.notes)
        return self._ready(context, choice, candidates, notes)

    def _untried(self, options: Sequence[Choice]) -> Iterator[Choice]:
        combinations = islice(product(*options), COMBINATIONS_MAX)
        return (choice for choice in combinations if tuple(approach.id for approach in choice) not in self._tried)

    def _candidates(self, subtask: Subtask, context: PlanningContext) -> Candidates:
        """Allowed approaches, the recommended ones first; those to avoid only if nothing else is left."""
        allowed = [approach for approach in subtask.approaches if not self._is_blocked(subtask, approach, context)]
        known = _potentials(context.recollections)
        ranked: list[tuple[int, float, Approach]] = []
        notes: list[str] = []
        for approach in allowed:
            tag = approach_tag(context.spec.task_class, subtask.id, approach.id)
            potentials = known.get(tag)
            action = potentials.action if potentials else Action.IGNORE
            decision = potentials.decision if potentials else 0.0
            rank = {Action.EXPLOIT: 0, Action.IGNORE: 1, Action.CAUTION: 1, Action.AVOID: 2}[action]
            ranked.append((rank, -decision if rank == 0 else 0.0, approach))
            if action is not Action.IGNORE:
                notes.append(f"{subtask.id}/{approach.id}: memory says {action} (decision {decision:+.2f})")
        ranked.sort(key=lambda entry: entry[:2])
        chosen = tuple(approach for rank, _, approach in ranked if rank < 2)
        if not chosen and ranked:
            notes.append(f"{subtask.id}: memory advises against every approach that is left; trying all the same")
            chosen = tuple(approach for _, _, approach in ranked)
        return Candidates(approaches=chosen, notes=tuple(notes))

    def _is_blocked(self, subtask: Subtask, approach: Approach, context: PlanningContext) -> bool:
        directive = context.directive
        if directive is None or subtask.id in context.matched:
            return False
        if TriedApproach(subtask=subtask.id, approach=approach.id) in directive.blocked_approaches:
            return True
        return any(
            self._hands.tool_ids(call) & frozenset(directive.blocked_tools)
            or targets(self._hands, call) & frozenset(directive.blocked_targets)
            for call in planned_calls(approach)
        )

    def _ready(
        self, context: PlanningContext, choice: Choice, candidates: Sequence[Candidates], notes: tuple[str, ...]
    ) -> PlanReady:
        subtasks = tuple(
            PlannedSubTask(
                id=subtask.id,
                sequence=subtask.sequence,
                intent=subtask.intent,
                criteria=subtask.criteria,
                approach=approach,
            )
            for subtask, approach in zip(self._playbook.subtasks, choice, strict=True)
        )
        carried = _carried(subtasks, context)
        return PlanReady(
            round=context.round,
            task_criteria=self._playbook.criteria,
            subtasks=subtasks,
            alternatives=tuple(
                Alternatives(
                    subtask_id=subtask.id,
                    tool_sets=tuple(
                        self._tool_set(other) for other in options.approaches if other is not subtask.approach
                    ),
                )
                for subtask, options in zip(subtasks, candidates, strict=True)
            ),
            carried=carried,
            reverted=tuple(subtask.id for subtask in subtasks if subtask.id not in carried) if context.previous else (),
            notes=notes,
        )

    def _tool_set(self, approach: Approach) -> tuple[str, ...]:
        return tuple(sorted({name for call in planned_calls(approach) for name in self._hands.tool_ids(call)}))


def _potentials(recollections: Sequence[Recollection]) -> dict[Tag, Potentials]:
    return {recollection.tag: recollection.potentials for recollection in recollections}


def _carried(subtasks: Sequence[PlannedSubTask], context: PlanningContext) -> tuple[str, ...]:
    """Matched subtasks whose approach stays and before which nothing changes: their outcomes stand."""
    if context.previous is None:
        return ()
    before = {subtask.id: subtask.approach for subtask in context.previous.subtasks}
    stays = {s.id for s in subtasks if s.id in context.matched and before.get(s.id) == s.approach}
    first_change = min((s.sequence for s in subtasks if s.id not in stays), default=None)
    return tuple(s.id for s in subtasks if s.id in stays and (first_change is None or s.sequence <= first_change))
