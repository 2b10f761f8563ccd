"""Which criteria does a model find met, by which records? Its word is an opinion; `verification.ledger` rules on it."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.llm.api import Message
from earnest.effects.tools.record import ToolRecord
from earnest.effects.workspace.changes import Change
from earnest.effects.workspace.tree import Kind
from earnest.engine.model.prompting import Data, prompt, told
from earnest.engine.ports import RoleModel, Unanswered
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.instants import rfc3339
from earnest.foundation.text import head_tail
from earnest.verification.ledger.records import Ledger, call_name
from earnest.verification.ledger.rulings import Citation, Opinion

CITATIONS_MAX: Final = 8
QUOTE_CHARACTERS_MAX: Final = 2_000
REASON_CHARACTERS_MAX: Final = 1_000
CALLS_SHOWN_MAX: Final = 100
RECORDS_CHARACTERS: Final = 80_000
"""Of all outputs together; each gets its share, but at least `OUTPUT_CHARACTERS_MIN`."""
OUTPUT_CHARACTERS_MIN: Final = 400
OUTPUT_CHARACTERS_MAX: Final = 4_100
ARGS_CHARACTERS_MAX: Final = 1_000
CHANGES_SHOWN_MAX: Final = 30
FILES_SHOWN_MAX: Final = 20
FILE_CHARACTERS_MAX: Final = 4_000
SAID_CHARACTERS_MAX: Final = 4_000
_WHOLE: Final = 1_000_000
"""Of data whose parts are bounded one by one."""


class ModelJudge:
    """The mind of R4a and of R4b for criteria without a check. `today` is the ISO date on which the run began."""

    def __init__(self, *, today: str) -> None:
        self._today = today

    async def opinions(
        self, criteria: Sequence[Criterion], ledger: Ledger, output: str, model: RoleModel
    ) -> tuple[Opinion, ...]:
        """What the model says of each criterion, in order, in one call.

        Raises `Unanswered` for anything but the one form asked for: exact ids in order, true or false, texts in bounds.
        """
        ids = [criterion.id for criterion in criteria]
        answer = await model.ask(prompt("judge").question(_schema(ids), self._told(criteria, ledger, output)))
        entries = answer.get("criteria")
        if not isinstance(entries, Sequence) or isinstance(entries, str) or len(entries) != len(criteria):
            raise _not_of_the_form(f"it does not have one entry for each of {len(criteria)} criteria")
        return tuple(_opinion(criterion, entry) for criterion, entry in zip(criteria, entries, strict=True))

    def _told(self, criteria: Sequence[Criterion], ledger: Ledger, output: str) -> Message:
        asked = [{"id": criterion.id, "text": criterion.text} for criterion in criteria]
        return told(
            f"Today is {self._today}.",
            Data(name="criteria", text=_json(asked), characters_max=_WHOLE),
            Data(name="records", text=_json(_records(ledger)), characters_max=_WHOLE),
            Data(name="files", text=_json(_files(ledger)), characters_max=_WHOLE),
            Data(name="what the executor says", text=output, characters_max=SAID_CHARACTERS_MAX),
            "Judge each criterion now.",
        )


def _schema(ids: Sequence[str]) -> JsonObject:
    reference: JsonObject = {
        "type": "object",
        "properties": {"call": {"type": "string"}, "quote": {"type": "string"}},
        "required": ["call", "quote"],
        "additionalProperties": False,
    }
    entry: JsonObject = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": list(ids)},
            "met": {"type": "boolean"},
            "evidence": {"type": "array", "items": reference},
            "reason": {"type": "string"},
        },
        "required": ["id", "met", "evidence", "reason"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"criteria": {"type": "array", "items": entry}},
        "required": ["criteria"],
        "additionalProperties": False,
    }


def _opinion(criterion: Criterion, entry: JsonValue) -> Opinion:
    match entry:
        case {"id": criterion.id, "met": bool(met), "evidence": [*evidence], "reason": str(reason), **rest} if not rest:
            citations = tuple(_citation(criterion, one) for one in evidence[:CITATIONS_MAX])
            return Opinion(
                criterion=criterion, met=met, citations=citations, reason=head_tail(reason, REASON_CHARACTERS_MAX)
            )
    raise _not_of_the_form(f"where {criterion.id} should stand there is not id, met, evidence and reason, as asked for")


def _citation(criterion: Criterion, value: JsonValue) -> Citation:
    match value:
        case {"call": str(call), "quote": str(quote), **rest} if not rest:
            return Citation(call=call, quote=quote[:QUOTE_CHARACTERS_MAX])
    raise _not_of_the_form(f"a reference for {criterion.id} is not a call and a quotation")


def _not_of_the_form(reason: str) -> Unanswered:
    return Unanswered(f"the judge's answer does not count: {reason}")


def _records(ledger: Ledger) -> list[JsonObject]:
    """The newest calls; of earlier ones only that they are left out."""
    first = max(0, len(ledger.calls) - CALLS_SHOWN_MAX)
    shown = ledger.calls[first:]
    share = min(OUTPUT_CHARACTERS_MAX, max(OUTPUT_CHARACTERS_MIN, RECORDS_CHARACTERS // max(1, len(shown))))
    records = [_record(call_name(at), record, share) for at, record in enumerate(shown, start=first)]
    return [{"left out": f"{first} earlier calls"}, *records] if first else records


def _record(name: str, record: ToolRecord, share: int) -> JsonObject:
    failure = f"{record.failure.code}: {record.failure.message}" if record.failure else ""
    return {
        "call": name,
        "tool": record.tool,
        "arguments": head_tail(_json(dict(record.args)), ARGS_CHARACTERS_MAX).splitlines(),
        "succeeded": record.ok,
        "exit_status": record.exit_code,
        "failure": head_tail(failure, ARGS_CHARACTERS_MAX),
        "started_at": rfc3339(record.started_at_ms),
        "output": head_tail(record.output_excerpt, share).splitlines(),
        "changed": [_change(change) for change in record.changed[:CHANGES_SHOWN_MAX]],
        "changes_not_shown": max(0, len(record.changed) - CHANGES_SHOWN_MAX),
    }


def _change(change: Change) -> str:
    match change.kind:
        case Kind.GONE:
            return f"removed {change.path}"
        case Kind.FOLDER:
            return f"made folder {change.path}"
        case _:
            return f"wrote {change.path} ({change.size_bytes} bytes)"


def _files(ledger: Ledger) -> list[JsonObject]:
    """The files as they are now that the calls left, the newest first."""
    left: Mapping[str, tuple[str, str]] = {
        path: (call_name(at), text) for at in range(len(ledger.calls)) for path, text in ledger.written(at)
    }
    newest = sorted(left, key=lambda path: int(left[path][0][1:]), reverse=True)
    return [
        {
            "path": path,
            "changed_by": left[path][0],
            "content": head_tail(left[path][1], FILE_CHARACTERS_MAX).splitlines(),
        }
        for path in islice(newest, FILES_SHOWN_MAX)
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
