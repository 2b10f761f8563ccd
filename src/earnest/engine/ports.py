"""What the engine needs from outside, as protocols: the runtime fills them, the engine reaches for nothing."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from earnest.contracts.criterion import Criterion
from earnest.effects.ground.bus.api import Envelope
from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.outside.llm.api import Message, Native
from earnest.engine.impossibility import ImpossibilityClaim
from earnest.engine.memory_messages import Recollection
from earnest.engine.messages import (
    ConfirmationAnswered,
    ConfirmationAsked,
    CorrectionSignal,
    FinalResult,
    PlanDirective,
    PlanningFailed,
    PlanReady,
    SubTask,
    SubTaskStatus,
    TaskRequested,
    TaskSpec,
)
from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError
from earnest.memory.megram import Tag
from earnest.verification.verdict import CriterionVerdict


class NeedsConfirmation(EarnestError):
    """Law 1: the action is not allowed unless the user says yes to exactly this.

    After a yes that was given under `key`, `call` may be performed under it.
    """

    def __init__(self, asked: ConfirmationAsked, *, key: str, call: ToolCall) -> None:
        super().__init__(f"{asked.wording} (this action alone: {asked.action})")
        self.asked = asked
        self.key = key
        self.call = call


class EffectUnknown(EarnestError):
    """A crash left it open whether an effect outside the workspace happened: a person is to say so, the run waits."""


class GivenUp(EarnestError):
    """A person was asked about an unknown effect and gave the run up."""


class Unanswered(EarnestError):
    """A model gave nothing that can be used; the message says why, in words for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a mind asks its model. `prompt` names the prompt file and its version, `form` is that of the answer.

    `messages` hold everything; whatever in them is not ours stands between fences. `schema` is the form as the endpoint
    is told it. `native` is the same for models that call tools; what these call is read into a value of the form.
    """

    prompt: str
    messages: tuple[Message, ...]
    form: JsonObject
    schema: JsonObject
    native: Native | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What came back: a value of the question's schema, or None with `told.failure`; and what it took."""

    value: JsonObject | None
    told: ModelAnswered


class Models(Protocol):
    """The models of all roles, with every call journalled as intent and outcome and held to the run's budget."""

    async def ask(self, turn: ModelTurn, question: Question) -> ModelReply:
        """Ask once, whatever crashes, with at most one repair of an answer that is not of the form.

        Raises `BudgetSpent` before the call that would pass a bound.
        """


class RoleModel(Protocol):
    """The model of the role whose mind is at work: each call is told on the bus, recorded, counted and bounded."""

    async def ask(self, question: Question) -> JsonObject:
        """A value of the question's schema. Raises `Unanswered`."""


LastWords: TypeAlias = Callable[[FinalResult, RoleModel], Awaitable[FinalResult]]
"""What a model may add to the words of an abandoned run, and nothing else; soon, for a user waits. R7's only mind."""


class BudgetSpent(EarnestError):
    """The next model call would pass what the run may spend: it is not made, and the run ends."""


class Hands(Protocol):
    """Tools, with every call journalled as intent and outcome."""

    def faults(self, call: ToolCall) -> Sequence[str]:
        """What is wrong with the call's tool or arguments; empty if nothing."""

    def tool_ids(self, call: ToolCall) -> frozenset[str]:
        """The identities that `blocked_tools` speaks of."""

    def target(self, call: ToolCall) -> str:
        """What `blocked_targets` speaks of."""

    def digest(self, call: ToolCall) -> str:
        """Equal for the same action: tool, version, canonical arguments, reach."""

    def refused(self, call: ToolCall, failure: ToolFailure) -> ToolRecord:
        """The record of a call that is not performed."""

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        """Perform the call once, whatever crashes. `key` names it within the run.

        `look` is a command that tells of an effect outside the workspace whether it happened: exit status 0 or 1.

        Raises `NeedsConfirmation` for what was neither granted nor confirmed, `EffectUnknown` for what a crash left
        open, `GivenUp` where that is a person's answer, and `OSError` or `Broken` where our own side failed.
        """

    async def revert(self, key: str, call_prefixes: Sequence[str]) -> None:
        """Take back, once, what the calls whose keys begin so changed in the workspace: what began last, first.

        The prefixes come in the order in which that work began.
        """


class Confirming(Protocol):
    """Whoever may give leave for an action beyond what was granted."""

    async def confirm(self, key: str, asked: ConfirmationAsked) -> ConfirmationAnswered:
        """The answer, durable by now: asked once per `key`, whatever crashes. No answer in time is a no."""


class CriteriaJudge(Protocol):
    """Evidence in, verdicts out. Never raises for what a check did: that is `unclear`."""

    async def judge(
        self,
        key: str,
        criteria: Sequence[Criterion],
        calls: Sequence[ToolRecord],
        *,
        output: str,
        model: RoleModel,
    ) -> tuple[CriterionVerdict, ...]:
        """One verdict a criterion, in order, on the workspace as it is now. Judged once per `key`.

        What no check decides, the model of the role that asks may judge; `output` is the executor's own words.
        """


class Recall(Protocol):
    """The store behind R5."""

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        """One answer a tag, in order."""


class KeptMessages(Protocol):
    """The messages of this run that an earlier process had kept."""

    def kept(self, message_id: str) -> Envelope | None:
        """The message with this id, if it was sent before."""


class Clarifier(Protocol):
    """The user, where one is there to be asked about the request."""

    async def ask(self, questions: Sequence[str], /) -> Sequence[str]:
        """One answer a question, in order, "" for none. Waits as long as a person takes."""


class Agreeing(Protocol):
    """The user, where one is there to be shown what is promised before the work begins."""

    async def amendment(self, number: int, plan: PlanReady) -> str:
        """What is to be otherwise, in the user's words; empty: the work may begin. Asked once a `number`, whatever

        crashes, and waited for as long as a person takes.
        """


class Perceiver(Protocol):
    """The mind of R1."""

    async def perceive(self, request: TaskRequested, model: RoleModel) -> TaskSpec:
        """Restate faithfully. Raises `Unanswered`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """All that a planner may know.

    `matched` and `failed` are the subtasks of the previous plan that have an outcome; the others were not run.
    `objections` are the faults of the planner's previous draft for the same round.
    `remarks` are all that the user said since the work was ordered; `draft` is the plan that the newest is about.
    """

    spec: TaskSpec
    round: int
    recollections: tuple[Recollection, ...]
    directive: PlanDirective | None = None
    previous: PlanReady | None = None
    matched: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    objections: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    draft: PlanReady | None = None

    @property
    def may_move_goal(self) -> bool:
        """True if the task criteria may be others: nobody but the user moves a goal that stands."""
        return self.previous is None or len(self.remarks) > self.previous.remarks


class Planner(Protocol):
    """The mind of R2."""

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """What to ask memory before planning."""

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady | PlanningFailed | ImpossibilityClaim:
        """A plan for the round, why there is none, or that none can be: the claim is looked into, and if it is not true

        the planner is asked again, with that as an objection. Round and number of corrections are set by R2 itself.
        """


class GuardedTools(Protocol):
    """The only tools an executor's mind sees: limits, repeats and blocks are enforced, calls are recorded."""

    async def call(self, call: ToolCall, look: str | None = None) -> ToolRecord:
        """Perform it, or give back a failed record that says what refused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What an executor says about its work. Which calls it made, and for whom, the engine knows by itself."""

    status: SubTaskStatus
    output: str
    reason: str = ""
    impossible: ImpossibilityClaim | None = None


class Executor(Protocol):
    """The mind of R3."""

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        """Work the subtask, or work it again."""
