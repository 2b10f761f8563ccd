"""The dispatcher sends subtasks out, group by group: same sequence number in parallel, later ones after it."""

from collections import deque
from dataclasses import dataclass, field

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.messages import (
    DispatchEnded,
    GroupStarted,
    PlanDirective,
    PlannedSubTask,
    PlanReady,
    PriorOutput,
    Role,
    SubTask,
    SubTaskEnding,
    SubTaskOutcome,
)
from earnest.engine.participant import Participant, Work
from earnest.engine.run import EngineRun


@dataclass(slots=True)
class DispatchState:
    """Where the dispatch of a run stands."""

    plan: PlanReady | None = None
    directive: PlanDirective | None = None
    pending: dict[int, list[PlannedSubTask]] = field(default_factory=dict)
    queue: deque[PlannedSubTask] = field(default_factory=deque)
    in_flight: set[str] = field(default_factory=set)
    group_failed: bool = False
    outcomes: dict[str, SubTaskOutcome] = field(default_factory=dict)
    worked: dict[str, str] = field(default_factory=dict)
    """Per subtask, in the order of their beginning: the prefix of the calls whose effects nobody has taken back."""


class Dispatcher(Participant[DispatchState]):
    """PlanReady → SubTask*; SubTaskOutcome* → the next group, or DispatchEnded. A failed group stops later ones."""

    role = Role.DISPATCHER
    hears = (PlanReady, PlanDirective, SubTaskOutcome)
    fresh = DispatchState

    def hear(self, run: EngineRun, state: DispatchState, envelope: Envelope) -> Work | None:
        """Start a round, or go on with it."""
        match envelope.payload:
            case PlanDirective() as directive:
                state.directive = directive
            case PlanReady() as plan:
                return self._begin(run, state, envelope, plan)
            case SubTaskOutcome() as outcome if state.plan is not None and outcome.round == state.plan.round:
                state.outcomes[outcome.subtask_id] = outcome
                state.in_flight.discard(outcome.subtask_id)
                state.group_failed |= outcome.status is SubTaskEnding.FAILED
                self._feed(run, state, envelope)
        return None

    async def _begin(self, run: EngineRun, state: DispatchState, cause: Envelope, plan: PlanReady) -> None:
        state.plan = plan
        state.group_failed = False
        state.pending.clear()
        for subtask in plan.subtasks:
            if subtask.id not in plan.carried:
                state.pending.setdefault(subtask.sequence, []).append(subtask)
        obsolete = [subtask_id for subtask_id in state.worked if subtask_id not in plan.carried]
        if obsolete:
            await run.hands.revert(f"r{plan.round}/revert", [state.worked.pop(subtask_id) for subtask_id in obsolete])
        self._feed(run, state, cause)

    def _feed(self, run: EngineRun, state: DispatchState, cause: Envelope) -> None:
        """Fill the free places; when a group is done, go to the next, or end."""
        plan = state.plan
        assert plan is not None
        if not state.queue and not state.in_flight:
            if state.group_failed or not state.pending:
                not_run = tuple(subtask.id for sequence in sorted(state.pending) for subtask in state.pending[sequence])
                state.pending.clear()
                ended = DispatchEnded(round=plan.round, not_run=not_run)
                run.post.send(Role.DISPATCHER, f"r{plan.round}/dispatched", ended, cause)
                return
            sequence = min(state.pending)
            state.queue.extend(state.pending.pop(sequence))
            ids = tuple(subtask.id for subtask in state.queue)
            started = GroupStarted(round=plan.round, sequence=sequence, subtask_ids=ids)
            run.post.send(Role.DISPATCHER, f"r{plan.round}/group{sequence}", started, cause)
        while state.queue and len(state.in_flight) < run.limits.parallel_subtasks:
            self._order(run, state, cause, state.queue.popleft())

    def _order(self, run: EngineRun, state: DispatchState, cause: Envelope, subtask: PlannedSubTask) -> None:
        plan, directive = state.plan, state.directive
        assert plan is not None
        state.in_flight.add(subtask.id)
        state.worked[subtask.id] = f"r{plan.round}/{subtask.id}/"
        earlier = [other.id for other in plan.subtasks if other.sequence < subtask.sequence]
        order = SubTask(
            round=plan.round,
            subtask=subtask,
            prior_outputs=tuple(PriorOutput(subtask_id=i, output=state.outcomes[i].output) for i in earlier),
            blocked_tools=directive.blocked_tools if directive else (),
            blocked_targets=directive.blocked_targets if directive else (),
            corrections_max=plan.corrections_max,
        )
        run.post.send(Role.DISPATCHER, f"r{plan.round}/{subtask.id}/order", order, cause)
