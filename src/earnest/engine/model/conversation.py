"""What an executor's model has been through, as the turns that it is shown: older ones shortened.

A record is told once, under the call's name; the arguments stand in the answer before it, which are the model's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.outside.llm.api import Message, MessageRole
from earnest.effects.outside.llm.fencing import Data, harmless, told
from earnest.engine.model.calling import as_called
from earnest.engine.model.prompting import said
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.text import head_tail

HISTORY_CHARACTERS: Final = 24_000
"""What exchanges before the newest may take together before the oldest are shortened."""
RECORD_CHARACTERS_MAX: Final = 6_000
OLD_RECORD_CHARACTERS: Final = 200
OLD_ARGUMENT_CHARACTERS: Final = 200
CHANGES_SHOWN_MAX: Final = 20
MESSAGE_CHARACTERS_MAX: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An answer and what came of it: the records of its calls, the first of them number `first`, and our remarks."""

    answer: JsonObject
    first: int
    records: tuple[ToolRecord, ...]
    remarks: tuple[str, ...]


def turns_of(exchanges: Sequence[Exchange], *, calls: bool = False) -> list[Message]:
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


def _whole(exchange: Exchange, *, is_newest: bool) -> _Shown:
    """What was written stands in its file: of an answer whose calls succeeded long arguments are shown in short."""
    has_failed = not all(record.ok for record in exchange.records)
    records = [
        Data(name=f"call {number}", text=record_told(record), characters_max=RECORD_CHARACTERS_MAX)
        for number, record in enumerate(exchange.records, start=exchange.first)
    ]
    answer = exchange.answer if is_newest and has_failed else _cut(exchange.answer)
    return _Shown(answer, records, exchange.remarks if is_newest else exchange.remarks[:-1])


def _shortened(exchange: Exchange, *, apart: bool) -> _Shown:
    """With the records in one piece, or each `apart`."""
    short = [
        Data(name=f"call {number}", text=f"{ended(record)}: {head_tail(record.output_excerpt, OLD_RECORD_CHARACTERS)}")
        for number, record in enumerate(exchange.records, start=exchange.first)
    ]
    if not apart:
        short = [Data(name="older calls, shortened", text="\n".join(f"{one.name} {one.text}" for one in short))]
    return _Shown(_cut(exchange.answer), short)


def _as_text(shown: _Shown) -> list[Message]:
    return [said(shown.answer), told(*shown.records, *shown.remarks)]


def _as_calls(exchange: Exchange, shown: _Shown) -> list[Message]:
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


def record_told(record: ToolRecord) -> str:
    """How the call ended, what it changed, what it put out."""
    return "\n".join([ended(record), *_changed(record), *([record.output_excerpt] if record.output_excerpt else [])])


def ended(record: ToolRecord) -> str:
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
