"""Models with a journal: each call is an intent, an answer and an outcome; what was answered is never asked again.

Asking only reads, so a call that a crash cut off is made again. What the lost one took nobody knows: it counts nowhere.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Final, TypeAlias, cast

from earnest.effects.ground.clock import Clock
from earnest.effects.outside.llm.answers import NoAnswer, read_answer
from earnest.effects.outside.llm.api import ChatModel, Completion, CompletionLimits, Finish, Message
from earnest.effects.outside.llm.api import MessageRole as Speaker
from earnest.effects.outside.llm.fitting import misfits
from earnest.engine.codec import decode, encode
from earnest.engine.messages import Budget, Role
from earnest.engine.model.calling import answer_of
from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.engine.ports import BudgetSpent, ModelReply, Question
from earnest.engine.spending import (
    ANSWER_TOKENS_MAX,
    ANSWER_TOKENS_MIN,
    Amount,
    Price,
    amount_of,
    answer_tokens_left,
    prompt_tokens_max,
    shortage,
)
from earnest.foundation.canonical import JsonObject, canonical_bytes, digest_bytes
from earnest.foundation.errors import Broken, Unavailable
from earnest.foundation.shapes import from_json, to_json
from earnest.foundation.text import head_tail
from earnest.runtime.run_book import RunBook
from earnest.runtime.task_log import TaskLog

REPAIRED_CHARACTERS_MAX: Final = 20_000
"""How much of an answer that is none goes back to the model that gave it."""
VALUE_BYTES_MAX: Final = 1024 * 1024
CUT: Final = {Finish.LENGTH: "it was cut off because it is too long", Finish.OTHER: "it ended before it was whole"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedModel:
    """A model, and its price if anybody knows it."""

    model: ChatModel
    price: Price | None


RoleModels: TypeAlias = Mapping[Role, PricedModel]
Ear: TypeAlias = Callable[[ModelTurn, str | None], None]
"""Hears what the model of a turn says as it comes (`effects.outside.llm.api.Hear`); nothing depends on it."""


@dataclass(slots=True, kw_only=True)
class CallTotals:
    """What the requests of one call took so far. `cost_micro` None: somebody's price or count is not known."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micro: int | None = 0
    charged: Amount = field(default_factory=Amount)

    def add(self, completion: Completion | None, price: Price | None, charged: Amount) -> Amount:
        """Count one request. Gives what the budget is charged with: what was counted, or else `charged`, the most."""
        usage = completion.usage if completion else None
        counted = usage is not None and usage.prompt_tokens + usage.completion_tokens > 0
        if usage is not None and counted:
            charged = amount_of(price, usage.prompt_tokens, usage.completion_tokens)
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
        if price is None or not (counted or price.is_free):
            self.cost_micro = None
        elif self.cost_micro is not None:
            self.cost_micro += charged.cost_micro
        self.calls += 1
        self.charged += charged
        return charged


@dataclass(slots=True, kw_only=True)
class Reservation:
    """Leave for one call. `taken` is what it costs the budget: the most possible, until somebody knows better."""

    answer_tokens: int
    taken: Amount


class Purse:
    """The budget of one run. Calls side by side never pass it together."""

    def __init__(self, budget: Budget, taken: Amount) -> None:
        self._budget = budget
        self._taken = taken
        self._under_way = 0
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, model: str, price: Price | None, prompt_tokens: int) -> AsyncIterator[Reservation]:
        """Room for a call of at most `prompt_tokens`, held until the block ends.

        What does not fit beside calls that are under way waits until they have ended. Raises `BudgetSpent`.
        """
        answer_tokens = await self._room(model, price, prompt_tokens)
        most = amount_of(price, prompt_tokens, answer_tokens)
        reservation = Reservation(answer_tokens=answer_tokens, taken=most)
        self._taken += most
        self._under_way += 1
        try:
            yield reservation
        finally:
            self._taken += reservation.taken - most
            self._under_way -= 1
            self._settled.set()
            self._settled = asyncio.Event()

    async def _room(self, model: str, price: Price | None, prompt_tokens: int) -> int:
        """Alone, a call takes what is left; beside others it is not cut short."""
        while True:
            left = answer_tokens_left(self._budget, self._taken, price, prompt_tokens)
            if left >= (ANSWER_TOKENS_MAX if self._under_way else ANSWER_TOKENS_MIN):
                return left
            if not self._under_way:
                raise BudgetSpent(shortage(self._budget, self._taken, price, model))
            await self._settled.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournaledModels:
    """`engine.ports.Models` over the run's book and its budget."""

    book: RunBook
    models: RoleModels
    purse: Purse
    clock: Clock
    log: TaskLog
    ear: Ear | None = None

    async def ask(self, turn: ModelTurn, question: Question) -> ModelReply:
        """See `Models`."""
        done = self.book.outcome(turn.key)
        if done is not None:
            return _kept(turn, question, done)
        chosen, account, started_ns = self.models[turn.role], CallTotals(), self.clock.ticks_ns()
        value, failure = await self._converse(turn, question, chosen, account)
        told = ModelAnswered(
            turn=turn,
            model=chosen.model.endpoint.model,
            calls=account.calls,
            prompt_tokens=account.prompt_tokens,
            completion_tokens=account.completion_tokens,
            cost_micro=account.cost_micro,
            duration_ms=(self.clock.ticks_ns() - started_ns) // 1_000_000,
            failure=failure,
        )
        body = {"prompt": question.prompt, "value": value, "told": encode(told), "charged": to_json(account.charged)}
        await self.book.conclude(turn.key, body)
        return ModelReply(value=value, told=told)

    async def _converse(
        self, turn: ModelTurn, question: Question, chosen: PricedModel, account: CallTotals
    ) -> tuple[JsonObject | None, str]:
        """Ask and, if what comes is no answer, once more: the value, or why there is none."""
        asked, reason = question, ""
        for is_repair in (False, True):
            try:
                completion = await self._complete(turn, asked, chosen, account)
            except Unavailable as error:
                self._unsay(turn)
                return None, str(error)
            except BudgetSpent as error:
                if not is_repair:
                    raise
                return None, f"no usable answer ({reason}); {error}"
            try:
                return _value(completion, question), ""
            except NoAnswer as error:
                reason = str(error)
                self._unsay(turn)
                asked = replace(question, messages=(*question.messages, *_repair(completion, reason)), native=None)
        return None, f"no usable answer, twice: {reason}"

    def _unsay(self, turn: ModelTurn) -> None:
        if self.ear is not None:
            self.ear(turn, None)

    async def _complete(
        self, turn: ModelTurn, question: Question, chosen: PricedModel, account: CallTotals
    ) -> Completion:
        """One request, whose intent is durable before it. Raises `Unavailable` and `BudgetSpent`."""
        model, messages = chosen.model, question.messages
        request = max(_written(question), key=len)
        tokens = prompt_tokens_max(request, len(messages))
        async with self.purse.reserved(model.endpoint.model, chosen.price, tokens) as reservation:
            key = f"{turn.key}/repair" if account.calls else turn.key
            if key == turn.key and self.book.intent(key) is None:
                asked = {"model": model.endpoint.model, "prompt": question.prompt, "digest": digest_bytes(request)}
                await self.book.intend(key, asked)
            limits = CompletionLimits(answer_tokens=reservation.answer_tokens)
            try:
                completion = await model.complete(
                    messages,
                    call_id=f"{self.book.run_id}/{key}",
                    schema=question.schema,
                    limits=limits,
                    native=question.native,
                    hear=None if self.ear is None else partial(self.ear, turn),
                )
            except Unavailable as error:
                reservation.taken = account.add(None, chosen.price, reservation.taken)
                self.log.note(turn, question, model.endpoint.model, failure=str(error))
                raise
            reservation.taken = account.add(completion, chosen.price, reservation.taken)
            self.log.note(turn, question, completion.model, answer=_spoken(completion))
            return completion


def charged_in(outcomes: Mapping[str, JsonObject]) -> Amount:
    """What the kept calls of a run have taken from its budget."""
    charged = (body["charged"] for body in outcomes.values() if "charged" in body)
    return reduce(add, (from_json(Amount, one, "what a model call took") for one in charged), Amount())


def _kept(turn: ModelTurn, question: Question, done: JsonObject) -> ModelReply:
    """The answer that an earlier process got. What the prompt was made of may have changed since, its form not."""
    match done:
        case {"prompt": str(prompt), "value": dict() | None as value, "told": dict(told)}:
            if prompt != question.prompt:
                raise Broken(f"the resumed run asks by {question.prompt} at {turn.key}, where {prompt} was answered")
            return ModelReply(value=value, told=cast("ModelAnswered", decode(ModelAnswered.__name__, told)))
    raise Broken(f"what a model answered at {turn.key} cannot be read")


def _value(completion: Completion, question: Question) -> JsonObject:
    """The object in a whole answer, or what was called, in the same form. Raises `NoAnswer`."""
    if completion.finish in CUT:
        raise NoAnswer(CUT[completion.finish])
    if question.native is not None and completion.calls:
        parameters = {one.name: one.parameters for one in question.native.functions}
        value = answer_of(completion.calls, parameters)
        if faults := misfits(question.form, value):
            raise NoAnswer("; ".join(faults))
    else:
        value = read_answer(completion.text, question.form)
    if len(canonical_bytes(value)) > VALUE_BYTES_MAX:
        raise NoAnswer(f"it is larger than {VALUE_BYTES_MAX} bytes")
    return value


def _written(question: Question) -> Iterator[bytes]:
    """What may be sent, for each form in which the question can be asked."""
    contents: list[object] = [[_turns(question.messages), question.schema]]
    if question.native is not None:
        functions = [(one.name, one.purpose, one.parameters) for one in question.native.functions]
        contents.append([_turns(question.native.messages), functions])
    for content in contents:
        yield json.dumps(content, ensure_ascii=False).encode(errors="surrogatepass")


def _turns(messages: Sequence[Message]) -> list[object]:
    return [
        (message.role, message.text, *((call.name, call.arguments) for call in message.calls)) for message in messages
    ]


def _spoken(completion: Completion) -> str:
    """What was said, and what was called, a line each."""
    called = (f"{call.name} {call.arguments}" for call in completion.calls)
    return "\n".join(filter(None, [completion.text, *called]))


def _repair(completion: Completion, reason: str) -> tuple[Message, Message]:
    """What was answered, and what is wrong with it; both are data."""
    words = f"That is no answer of the form asked for. What is wrong, as data: {json.dumps(reason)}"
    return (
        Message(role=Speaker.ASSISTANT, text=head_tail(_spoken(completion), REPAIRED_CHARACTERS_MAX) or "(nothing)"),
        Message(role=Speaker.USER, text=f"{words}\nAnswer again: the JSON object alone, whole."),
    )
