"""R2 owns the way to the goal: asks memory, lets its mind plan, and dispatches only a plan that obeys the rules."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.asking import Asking
from earnest.engine.gradient.cascade import Urgency
from earnest.engine.impossibility import ImpossibilityClaim
from earnest.engine.memory_messages import MemoryAnswered, MemoryAsked, Recollection
from earnest.engine.messages import (
    PlanDirective,
    PlannedSubTask,
    PlanningFailed,
    PlanReady,
    Remarked,
    Role,
    SubTaskEnding,
    SubTaskOutcome,
    TaskSpec,
)
from earnest.engine.participant import Participant, Work
from earnest.engine.plan_rules import plan_faults
from earnest.engine.ports import PlanningContext
from earnest.engine.run import EngineRun
from earnest.foundation.text import printable
from earnest.memory.megram import approach_tag
from earnest.memory.potential import Advice

DRAFTS_MAX: Final = 2
OVERLOOKED: Final = "{missing}, and the request takes it as given: say that it is impossible, or plan without it"
NOT_SHOWN: Final = "that {name} is missing could not be confirmed: plan the task"
"""A draft that breaks a rule goes back once, with the reasons."""

CORRECTIONS_MAX: Final[dict[Urgency, int]] = {Urgency.LOW: 3, Urgency.NORMAL: 2, Urgency.HIGH: 1}
"""Corrections in the fast loop: two, one more while things improve, one fewer while they get worse."""

MEMORY_HEAD: Final = "What memory has of such work:"
MEMORY_LINES_MAX: Final = 10
MEMORY_LINE_CHARACTERS_MAX: Final = 200
_WORDS: Final = {Advice.EXPLOIT: "went well", Advice.AVOID: "went badly", Advice.CAUTION: "went now well, now badly"}


@dataclass(slots=True)
class PlannerState:
    """What R2 knows of a run."""

    spec: TaskSpec | None = None
    recollections: tuple[Recollection, ...] = ()
    directive: PlanDirective | None = None
    previous: PlanReady | None = None
    remarks: list[str] = field(default_factory=list)
    outcomes: dict[str, SubTaskEnding] = field(default_factory=dict)
    """Of the plan in force, as far as its subtasks have one."""


class PlannerRole(Participant[PlannerState]):
    """TaskSpec → MemoryAsked; MemoryAnswered or PlanDirective → PlanReady or PlanningFailed."""

    role = Role.R2
    hears = (TaskSpec, MemoryAnswered, SubTaskOutcome, PlanDirective, Remarked)
    fresh = PlannerState

    def hear(self, run: EngineRun, state: PlannerState, envelope: Envelope) -> Work | None:
        """Fold; plan when there is something to plan on."""
        match envelope.payload:
            case TaskSpec(reply="") as spec:
                state.spec = spec
                run.post.send(Role.R2, "memory/asked", MemoryAsked(tags=run.planner.tags(spec)), envelope)
            case MemoryAnswered(recollections=recollections):
                state.recollections = recollections
                return self._plan(run, state, envelope, 1)
            case SubTaskOutcome(subtask_id=subtask_id, status=status):
                state.outcomes[subtask_id] = status
            case Remarked(text=text):
                state.remarks.append(text)
            case PlanDirective() as directive:
                state.directive = directive
                return self._plan(run, state, envelope, directive.round + 1)
        return None

    async def _plan(self, run: EngineRun, state: PlannerState, cause: Envelope, number: int) -> None:
        assert state.spec is not None
        context = PlanningContext(
            spec=state.spec,
            round=number,
            recollections=state.recollections,
            directive=state.directive,
            previous=state.previous,
            matched=frozenset(i for i, status in state.outcomes.items() if status is SubTaskEnding.MATCHED),
            failed=frozenset(i for i, status in state.outcomes.items() if status is SubTaskEnding.FAILED),
            remarks=tuple(state.remarks),
        )
        answer = await self._agreed(run, state, context, cause)
        if isinstance(answer, PlanReady):
            urgency = state.directive.urgency if state.directive else Urgency.NORMAL
            answer = with_memory(answer, state.spec.task_class, state.recollections)
            answer = replace(answer, corrections_max=CORRECTIONS_MAX[urgency])
        sent = run.post.send(Role.R2, f"r{number}/plan", replace(answer, round=number), cause).payload
        if isinstance(sent, PlanReady):
            state.previous = sent
            state.outcomes = {i: state.outcomes[i] for i in sent.carried}

    async def _agreed(
        self, run: EngineRun, state: PlannerState, context: PlanningContext, cause: Envelope
    ) -> PlanReady | PlanningFailed:
        """A plan; of the first round, where somebody is there to see it, one that the user lets begin."""
        number = 0
        while True:
            answer = await self._draft(run, context, cause, DRAFTS_MAX * number)
            number += 1
            if context.round > 1 or run.agreeing is None or isinstance(answer, PlanningFailed):
                return answer
            with run.effect():
                words = await run.agreeing.amendment(number, answer)
            if not words:
                return answer
            context = replace(context, remarks=(*state.remarks, words), draft=answer)
            run.post.send(Role.USER, f"amendment/{number}", Remarked(text=words), cause)

    async def _draft(
        self, run: EngineRun, context: PlanningContext, cause: Envelope, before: int
    ) -> PlanReady | PlanningFailed:
        """What the mind drafts, after so many drafts `before`."""
        for number in range(before + 1, before + DRAFTS_MAX + 1):
            model = Asking(run, Role.R2, cause, round_number=context.round, attempt=number)
            draft = await run.planner.plan(context, model)
            if isinstance(draft, ImpossibilityClaim):
                missing = await run.reality.confirmed(draft, context.spec.needs, ())
                if missing:
                    return PlanningFailed(
                        round=context.round, reasons=(draft.because,), exhausted=False, impossible=missing
                    )
                context = replace(context, objections=(NOT_SHOWN.format(name=printable(draft.name)),))
                continue
            if isinstance(draft, PlanningFailed):
                return draft
            faults = plan_faults(draft, context, run.hands)
            if not faults and context.round == 1 and number == before + 1:
                faults = await _overlooked(run, draft, context.spec)
            if not faults:
                return draft
            context = replace(context, objections=faults)
        return PlanningFailed(round=context.round, reasons=context.objections, exhausted=False)


async def _overlooked(run: EngineRun, draft: PlanReady, spec: TaskSpec) -> tuple[str, ...]:
    """What the plan takes as given and is nowhere: told once, since who read the request may have been wrong."""
    criteria = [one for subtask in draft.subtasks for one in subtask.criteria]
    missing = await run.reality.lacking(spec.needs, (*draft.task_criteria, *criteria))
    return (OVERLOOKED.format(missing=missing),) if missing else ()


def with_memory(plan: PlanReady, task_class: str, recollections: Collection[Recollection]) -> PlanReady:
    """The plan whose subtasks hold what memory has to say about them, after what their planner wrote: R2 reads memory

    for those who work, since executors never ask it (seed, R5).

    Of an approach's experience only that of the chosen one is told. Whose outcome stands is told nothing.
    """
    return replace(
        plan,
        subtasks=tuple(
            one if one.id in plan.carried else replace(one, context=_remembered(one, task_class, recollections))
            for one in plan.subtasks
        ),
    )


def _remembered(subtask: PlannedSubTask, task_class: str, recollections: Collection[Recollection]) -> str:
    own = subtask.context.partition(MEMORY_HEAD)[0].rstrip()
    chosen = approach_tag(task_class, subtask.id, subtask.approach.id) if subtask.approach else None
    about = (one for one in recollections if not one.tag.space.startswith("approach:") or one.tag == chosen)
    lines = [printable(line)[:MEMORY_LINE_CHARACTERS_MAX] for line in islice(_memory_lines(about), MEMORY_LINES_MAX)]
    return "\n".join([*([own] if own else []), *([MEMORY_HEAD, *lines] if lines else [])])


def _memory_lines(about: Iterator[Recollection]) -> Iterator[str]:
    """Rules first, then how things went with the newest of what happened."""
    known = list(about)
    for one in known:
        yield from (f"- {'MUST NOT' if rule.avoid else 'SHOULD PREFER'}: {rule.text}" for rule in one.rules)
    for one in known:
        if one.action in _WORDS and not one.rules:
            newest = f": {one.contents[0]}" if one.contents else ""
            yield f"- {one.tag.space} {one.tag.entity} {_WORDS[one.action]}{newest}"
