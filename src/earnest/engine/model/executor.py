"""R3's mind: it asks for calls, makes them in order and shows the records, to the end.

Of what its model has been through the older turns are shortened. A record is told once, under the call's name; the
arguments stand in the answer before it, which are the model's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.outside.llm.api import Message, MessageRole
from earnest.effects.outside.llm.fencing import Data, harmless, told
from earnest.engine.impossibility import claim_of
from earnest.engine.messages import CorrectionSignal, SubTask, SubTaskStatus
from earnest.engine.model.calling import DONE_FORM, ToolOffer, args_told, as_called, call_form, functions_of
from earnest.engine.model.prompting import closed, listed, persona_parts, prompt, said, told_criterion
from earnest.engine.picture import Look, picture_parts, unseen
from earnest.engine.ports import Assertion, GuardedTools, Question, RoleModel, Unanswered
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_text
from earnest.foundation.text import head_tail

CALLS_MAX: Final = 40
"""As the guard's (`RunLimits.calls_per_execution`), so that an execution ends before it is ended."""
IDLE_ANSWERS_MAX: Final = 2
"""Answers in which nothing is done and nothing ends."""
TIMEOUT_S: Final = 60
OUTPUT_CHARACTERS_MAX: Final = 16_000
LIST_CHARACTERS_MAX: Final = 8_000
ARGS_CHARACTERS_MAX: Final = 300
MESSAGE_CHARACTERS_MAX: Final = 300
TOOLS: Final = "tools, best first"
TRIED_SHOWN_MAX: Final = 40
PRIOR_OUTPUTS_MAX: Final = 20
HISTORY_CHARACTERS: Final = 24_000
"""What exchanges before the newest may take together before the oldest are shortened."""
RECORD_CHARACTERS_MAX: Final = 6_000
OLD_RECORD_CHARACTERS: Final = 200
OLD_ARGUMENT_CHARACTERS: Final = 200
CHANGES_SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """An answer and what came of it: the records of its calls, the first of them number `first`, and our remarks."""

    answer: JsonObject
    first: int
    records: tuple[ToolRecord, ...]
    remarks: tuple[str, ...]


class ModelExecutor:
    """The mind of R3, one per run: it remembers what was tried for a subtask, so that no retry forgets it."""

    def __init__(
        self, *, offers: Sequence[ToolOffer], calls_max: int = CALLS_MAX, persona: str = "", look: Look = unseen
    ) -> None:
        self._offers = tuple(offers)
        self._persona = persona
        self._calls_max = calls_max
        self._look = look
        self._form = closed(
            {
                "calls": {"type": "array", "items": call_form(offers), "maxItems": calls_max},
                "done": {"anyOf": [{"type": "null"}, DONE_FORM]},
                "impossible": {"type": ["object", "null"]},  # see `claim_of`
            }
        )
        self._functions = functions_of(offers)
        self._tried: dict[str, list[str]] = {}

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        """See `Executor`. Of several calls in one answer those after a failed one are not made.

        An end that comes with calls was said before they were seen: it counts if each of them succeeded. What the guard
        raises ends the execution.
        """
        tried = self._tried.setdefault(order.subtask.id, [])
        parts = [*self._order_parts(order, correction, tried), *picture_parts(await self._look())]
        parts.append(f"You may make {self._calls_max} calls. Begin.")
        exchanges: list[_Exchange] = []
        left, idle = self._calls_max, 0
        while idle <= IDLE_ANSWERS_MAX:
            try:
                answer = await model.ask(self._question(parts, exchanges))
            except Unanswered as error:
                return Assertion(status=SubTaskStatus.FAILED, output="", reason=f"the model gave no answer: {error}")
            calls, end = _calls(answer), _end(answer)
            records: list[ToolRecord] = []
            for call in calls[:left]:
                records.append(await tools.call(call))
                args = head_tail(canonical_text(records[-1].args), ARGS_CHARACTERS_MAX)
                tried.append(f"{records[-1].tool} {args} {_ended(records[-1])}")
                if not records[-1].ok:
                    break
            first, left = self._calls_max - left + 1, left - len(records)
            if end is not None and len(records) == len(calls) and all(record.ok for record in records):
                return end
            idle += not records
            remarks = tuple(_remarks(calls, records, end, left))
            exchanges.append(_Exchange(answer=answer, first=first, records=tuple(records), remarks=remarks))
        return Assertion(
            status=SubTaskStatus.FAILED, output="", reason="the model neither did anything nor came to an end"
        )

    def _question(self, parts: Sequence[str | Data], exchanges: Sequence[_Exchange]) -> Question:
        """In both forms: a model that calls is told of the tools beside the text."""
        rules = prompt("executor")
        question = rules.question(self._form, told(*parts), *_turns_of(exchanges))
        if not self._functions:
            return question
        opening = told(*(part for part in parts if isinstance(part, str) or part.name != TOOLS))
        turns = _turns_of(exchanges, calls=True)
        return replace(question, native=rules.native(self._functions, opening, *turns))

    def _order_parts(
        self, order: SubTask, correction: CorrectionSignal | None, tried: Sequence[str]
    ) -> Iterator[str | Data]:
        subtask = order.subtask
        yield from persona_parts(self._persona)
        yield Data(name="subtask", text=subtask.intent)
        if subtask.context:
            yield Data(name="context", text=subtask.context, characters_max=LIST_CHARACTERS_MAX)
        yield from _list("criteria", list(map(told_criterion, subtask.criteria)))
        for prior in order.prior_outputs[-PRIOR_OUTPUTS_MAX:]:
            yield Data(name=f"output of {prior.subtask_id}, which was done before", text=prior.output)
        yield from _list(TOOLS, [f"{one.name} {args_told(one.args)}: {one.purpose}" for one in self._offers])
        blocked = [f"the tool {tool}" for tool in order.blocked_tools]
        blocked += [f"{target.tool} on {target.target}" for target in order.blocked_targets]
        yield from _list("forbidden, such calls are refused", blocked)
        if correction is not None:
            yield "You were sent back: your last work does not meet its criteria. The workspace is as you left it."
            yield from _list("what was wrong", [*correction.what_was_wrong, correction.what_to_do])
        yield from _list("tried before for this subtask, do not repeat what failed", tried[-TRIED_SHOWN_MAX:])


def _calls(answer: JsonObject) -> list[ToolCall]:
    """The calls as asked for; what they may reach is for the hands to say."""
    asked = answer.get("calls")
    return [_call(entry) for entry in asked if isinstance(entry, Mapping)] if isinstance(asked, Sequence) else []


def _call(entry: JsonObject) -> ToolCall:
    args, timeout_s, writes = entry.get("args"), entry.get("timeout_s"), entry.get("writes")
    return ToolCall(
        tool=str(entry.get("tool")),
        args=args if isinstance(args, Mapping) else {},
        timeout_ms=1000 * (timeout_s if isinstance(timeout_s, int) else TIMEOUT_S),
        network=entry.get("network") is True,
        writes=tuple(map(str, writes)) if isinstance(writes, Sequence) and not isinstance(writes, str) else (),
    )


def _end(answer: JsonObject) -> Assertion | None:
    if claim := claim_of(answer.get("impossible")):
        return Assertion(status=SubTaskStatus.FAILED, output="", reason=claim.because, impossible=claim)
    match answer.get("done"):
        case {"status": str(status), "output": str(output), **others} if status in {*SubTaskStatus}:
            reason = others.get("reason")
            return Assertion(
                status=SubTaskStatus(status),
                output=head_tail(output, OUTPUT_CHARACTERS_MAX),
                reason=head_tail(reason, MESSAGE_CHARACTERS_MAX) if isinstance(reason, str) else "",
            )
    return None


def _remarks(
    calls: Sequence[ToolCall], records: Sequence[ToolRecord], end: Assertion | None, left: int
) -> Iterator[str]:
    if len(records) < len(calls):
        why = "one before them failed" if records and not records[-1].ok else "no call is left"
        yield f"{len(calls) - len(records)} of your calls were not made: {why}."
    if end is not None:
        yield 'Your "done" does not count, as not every call of that answer succeeded.'
    if not calls:
        yield 'Give "calls", or "done" to end.'
    yield f"You may make {left} more calls." if left else 'No call is left: give "done" alone.'


def _list(name: str, items: Sequence[str]) -> Iterator[Data]:
    if items:
        yield Data(name=name, text=listed(items), characters_max=LIST_CHARACTERS_MAX)


def _turns_of(exchanges: Sequence[_Exchange], *, calls: bool = False) -> list[Message]:
    """From the oldest to the newest; with `calls` as a model is told that calls tools, each record under its call."""
    turns: list[Message] = []
    left = HISTORY_CHARACTERS
    for age, exchange in enumerate(reversed(exchanges)):
        shown = _whole(exchange, is_newest=age == 0)
        if age and (left := left - sum(len(turn.text) for turn in _as_text(shown))) < 0:
            shown = _shortened(exchange, apart=calls)
        turns[:0] = _as_calls(exchange, shown) if calls else _as_text(shown)
    return turns


class _Shown(NamedTuple):
    """The parts of an exchange as they are shown."""

    answer: JsonObject
    records: Sequence[Data]
    remarks: Sequence[str] = ()


def _whole(exchange: _Exchange, *, is_newest: bool) -> _Shown:
    """What was written stands in its file: of an answer whose calls succeeded long arguments are shown in short."""
    has_failed = not all(record.ok for record in exchange.records)
    records = [
        Data(name=f"call {number}", text=_record_told(record), characters_max=RECORD_CHARACTERS_MAX)
        for number, record in enumerate(exchange.records, start=exchange.first)
    ]
    answer = exchange.answer if is_newest and has_failed else _cut(exchange.answer)
    return _Shown(answer, records, exchange.remarks if is_newest else exchange.remarks[:-1])


def _shortened(exchange: _Exchange, *, apart: bool) -> _Shown:
    """With the records in one piece, or each `apart`."""
    short = [
        Data(name=f"call {number}", text=f"{_ended(record)}: {head_tail(record.output_excerpt, OLD_RECORD_CHARACTERS)}")
        for number, record in enumerate(exchange.records, start=exchange.first)
    ]
    if not apart:
        short = [Data(name="older calls, shortened", text="\n".join(f"{one.name} {one.text}" for one in short))]
    return _Shown(_cut(exchange.answer), short)


def _as_text(shown: _Shown) -> list[Message]:
    return [said(shown.answer), told(*shown.records, *shown.remarks)]


def _as_calls(exchange: _Exchange, shown: _Shown) -> list[Message]:
    calls = as_called(shown.answer, exchange.first)
    if not calls:
        return _as_text(shown)
    records = [f"{record.name} {harmless(record)}" for record in shown.records]
    replies = [*records, *["It was not made."] * (len(calls) - len(records))]
    return [
        Message(role=MessageRole.ASSISTANT, text="", calls=calls),
        *(
            Message(role=MessageRole.TOOL, text=text, answers=call.id)
            for call, text in zip(calls, replies, strict=True)
        ),
        *([told(*shown.remarks)] if shown.remarks else ()),
    ]


def _record_told(record: ToolRecord) -> str:
    """How the call ended, what it changed, what it put out."""
    return "\n".join([_ended(record), *_changed(record), *([record.output_excerpt] if record.output_excerpt else [])])


def _ended(record: ToolRecord) -> str:
    """`succeeded, exit status 0`"""
    failure = record.failure
    how = f"failed, {failure.code}: {head_tail(failure.message, MESSAGE_CHARACTERS_MAX)}" if failure else "succeeded"
    return how + ("" if record.exit_code in (None, 0) else f", exit status {record.exit_code}")


def _changed(record: ToolRecord) -> Iterator[str]:
    changes = [
        f"removed {change.path}" if change.digest is None else f"{change.path} ({change.size_bytes} bytes)"
        for change in record.changed[:CHANGES_SHOWN_MAX]
    ]
    more = f" and {len(record.changed) - CHANGES_SHOWN_MAX} more" if len(record.changed) > CHANGES_SHOWN_MAX else ""
    if changes:
        yield f"changed: {', '.join(changes)}{more}"


def _cut(answer: JsonObject) -> JsonObject:
    return {key: _short(value) for key, value in answer.items()}


def _short(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return head_tail(value, OLD_ARGUMENT_CHARACTERS)
        case Mapping():
            return {key: _short(inner) for key, inner in value.items()}
        case [*items]:
            return [_short(item) for item in items]
    return value
