"""Criteria that a model finds met, and by which records. `verification.records` rules on its opinion."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.effects.outside.llm.api import Message
from earnest.effects.outside.llm.fencing import Data, told
from earnest.engine.model.prompting import closed, prompt, said
from earnest.engine.picture import Look, Picture, picture_parts, unseen
from earnest.engine.ports import RoleModel, Unanswered
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_text
from earnest.foundation.instants import rfc3339
from earnest.foundation.text import head_tail
from earnest.verification.records.evidence import WorkRecords, call_name, measurement_name
from earnest.verification.records.rulings import Citation, JudgeOpinion, must_be_measured

Measure: TypeAlias = Callable[[Sequence[str]], Awaitable[tuple[ToolRecord, ...]]]
"""Runs command lines of the judge on what is judged, a record each. Nothing that they do lasts."""

MEASUREMENTS_MAX: Final = 3
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
TWICE_CHARACTERS_MIN: Final = 200
"""Of a file that is not shown again where an argument or output holds it."""
SAID_CHARACTERS_MAX: Final = 4_000
_WHOLE: Final = 1_000_000
"""Of data whose parts are bounded one by one."""


@dataclass(slots=True, kw_only=True)
class ModelJudge:
    """The mind of R4a and of R4b for criteria without a check. `today` is the ISO date on which the run began."""

    today: str
    look: Look = unseen

    async def opinions(
        self,
        criteria: Sequence[Criterion],
        records: WorkRecords,
        output: str,
        model: RoleModel,
        measure: Measure | None = None,
    ) -> tuple[JudgeOpinion, ...]:
        """What the model says of each criterion, in order, in one call, or in two if it wants to `measure` first.

        Who says yes to what could be measured, and measured nothing, is asked once for what to measure.
        Raises `Unanswered` for anything but the one form asked for: exact ids in order, true or false, texts in bounds.
        """
        ids = [criterion.id for criterion in criteria]
        asked = self._told(criteria, records, output, await self.look())
        answer = await model.ask(prompt("judge").question(_schema(ids, measures=measure is not None), asked))
        turns = [asked, said(answer)]
        commands = _commands(answer)
        if measure is not None and not commands and (unshown := _unmeasured(answer, criteria, records)):
            turns.append(told(f"{', '.join(unshown)}: a yes counts only if you measure. Answer with measure alone."))
            wanted = await model.ask(prompt("judge").question(_MEASURING, *turns))
            turns.append(said(wanted))
            commands = _commands(wanted)
        if measure is not None and commands:
            measured = told(*_measured(await measure(commands)))
            answer = await model.ask(prompt("judge").question(_schema(ids), *turns, measured))
        entries = answer.get("criteria")
        if not isinstance(entries, Sequence) or isinstance(entries, str) or len(entries) != len(criteria):
            raise _not_of_the_form(f"it does not have one entry for each of {len(criteria)} criteria")
        return tuple(_opinion(criterion, entry) for criterion, entry in zip(criteria, entries, strict=True))

    def _told(self, criteria: Sequence[Criterion], records: WorkRecords, output: str, picture: Picture) -> Message:
        asked = [canonical_text({"id": criterion.id, "text": criterion.text}) for criterion in criteria]
        return told(
            f"Today is {self.today}.",
            *picture_parts(picture),
            Data(name="criteria", text="\n".join(asked), characters_max=_WHOLE),
            *_records(records),
            *_files(records),
            Data(name="what the executor says", text=output, characters_max=SAID_CHARACTERS_MAX),
            "Judge each criterion now.",
        )


def _unmeasured(answer: JsonObject, criteria: Sequence[Criterion], records: WorkRecords) -> list[str]:
    """The ids of those that the model calls met although they could be measured."""
    given = answer.get("criteria")
    entries = given if isinstance(given, Sequence) else ()
    met = [entry.get("id") for entry in entries if isinstance(entry, Mapping) and entry.get("met") is True]
    return [one.id for one in criteria if one.id in met and must_be_measured(one, records)]


def _commands(answer: JsonObject) -> tuple[str, ...]:
    """What the model wants to measure."""
    asked = answer.get("measure")
    lines = asked if isinstance(asked, Sequence) and not isinstance(asked, str) else ()
    return tuple(line for line in lines if isinstance(line, str) and line.strip())[:MEASUREMENTS_MAX]


def _measured(records: Sequence[ToolRecord]) -> Iterator[str | Data]:
    for at, record in enumerate(records):
        lines = _record_lines(record, {}, OUTPUT_CHARACTERS_MAX)
        yield Data(name=f"record {measurement_name(at)}", text="\n".join(lines), characters_max=_WHOLE)
    yield "Nothing more can be measured. Judge each criterion now."


_COMMANDS: Final[JsonObject] = {"type": "array", "items": {"type": "string"}}
_MEASURING: Final = closed({"measure": _COMMANDS}, ["measure"])


def _schema(ids: Sequence[str], *, measures: bool = False) -> JsonObject:
    reference = closed({"call": {"type": "string"}, "quote": {"type": "string"}}, ["call", "quote"])
    entry = closed(
        {
            "id": {"type": "string", "enum": list(ids)},
            "met": {"type": "boolean"},
            "evidence": {"type": "array", "items": reference},
            "reason": {"type": "string"},
        },
        ["id", "met", "evidence", "reason"],
    )
    criteria: JsonObject = {"criteria": {"type": "array", "items": entry}}
    return closed({**criteria, "measure": _COMMANDS}, []) if measures else closed(criteria, ["criteria"])


def _opinion(criterion: Criterion, entry: JsonValue) -> JudgeOpinion:
    match entry:
        case {"id": criterion.id, "met": bool(met), "evidence": [*evidence], "reason": str(reason), **rest} if not rest:
            citations = tuple(_citation(criterion, one) for one in evidence[:CITATIONS_MAX])
            return JudgeOpinion(
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


def _records(records: WorkRecords) -> Iterator[Data]:
    """The newest calls, each between fences of its own; of earlier ones only that they are left out."""
    first = max(0, len(records.calls) - CALLS_SHOWN_MAX)
    shown = records.calls[first:]
    share = min(OUTPUT_CHARACTERS_MAX, max(OUTPUT_CHARACTERS_MIN, RECORDS_CHARACTERS // max(1, len(shown))))
    known = {text: path for path, (_, text) in _left(records).items() if len(text) >= TWICE_CHARACTERS_MIN}
    if first:
        yield Data(name="left out", text=f"{first} earlier calls")
    for at, record in enumerate(shown, start=first):
        lines = _record_lines(record, known, share)
        yield Data(name=f"record {call_name(at)}", text="\n".join(lines), characters_max=_WHOLE)


def _record_lines(record: ToolRecord, known: Mapping[str, str], share: int) -> Iterator[str]:
    """What we know of the call stands before what it put out, where no output can follow it."""
    args = {name: _once(value, known) if isinstance(value, str) else value for name, value in record.args.items()}
    failure = f"{record.failure.code}: {record.failure.message}" if record.failure else ""
    yield f"{record.tool} {head_tail(canonical_text(args), ARGS_CHARACTERS_MAX)}"
    if record.found_nothing:
        yield "searched, and found nothing"
    else:
        yield "succeeded" if record.ok else f"failed: {head_tail(canonical_text(failure), ARGS_CHARACTERS_MAX)}"
    status = "" if record.exit_code is None else f"exit status {record.exit_code}, "
    yield f"{status}started {rfc3339(record.started_at_ms)}"
    if changed := [_change(change) for change in record.changed[:CHANGES_SHOWN_MAX]]:
        yield f"changed: {canonical_text(changed)}"
    if record.output_excerpt:
        yield f"output:\n{head_tail(_once(record.output_excerpt, known), share)}"


def _change(change: Change) -> str:
    match change.kind:
        case EntryKind.GONE:
            return f"removed {change.path}"
        case EntryKind.FOLDER:
            return f"made folder {change.path}"
        case _:
            return f"wrote {change.path} ({change.size_bytes} bytes)"


def _once(text: str, known: Mapping[str, str]) -> str:
    """The text; where it holds a whole file that is shown anyway, its name instead."""
    for content, path in known.items():
        if content.strip() and content.strip() in text:
            text = text.replace(content.strip(), f"[all of the file {canonical_text(path)}, as shown]")
    return text


def _left(records: WorkRecords) -> dict[str, tuple[str, str]]:
    """The files that calls left, as they are now, each with the call that changed it last; the newest first."""
    left = {path: (call_name(at), text) for at in range(len(records.calls)) for path, text in records.written(at)}
    newest = sorted(left, key=lambda path: int(left[path][0][1:]), reverse=True)
    return {path: left[path] for path in newest[:FILES_SHOWN_MAX]}


def _files(records: WorkRecords) -> Iterator[Data]:
    first: dict[str, str] = {}
    for number, (path, (call, text)) in enumerate(_left(records).items(), start=1):
        same = first.setdefault(text, path) if len(text) >= TWICE_CHARACTERS_MIN else path
        content = head_tail(text, FILE_CHARACTERS_MAX) if same == path else f"[the same as {canonical_text(same)}]"
        shown = f"{canonical_text(path)}, changed by {call}\n{content}"
        yield Data(name=f"file {number}", text=shown, characters_max=_WHOLE)
