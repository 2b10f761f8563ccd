"""What one reference into the records proves: its words are there, and are not the executor's own."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.verification.judging.orders import gives_orders
from earnest.verification.records.demands import Demand, is_named
from earnest.verification.records.evidence import WorkRecords, against_file, arguments, folded, mentions, pieces, says
from earnest.verification.visible import words

QUOTE_LETTERS_MIN: Final = 5
"""Spaces not counted; a quotation that is a whole line may be shorter."""
SOUGHT_LETTERS_MIN: Final = 4
"""Of a word that a question and a search have in common."""
SILENCE: Final = "nothing was found"
NEAR_CHARACTERS: Final = 4_000
"""How far around a quotation orders to the judge are looked for."""

SHOWS: Final = frozenset({"cat", "head", "tail", "nl", "tac", "more", "less"})
_SAYS: Final = frozenset({"echo", "printf", "yes"})
_TURNS_WORDS: Final = _SAYS | frozenset({"base64", "rev", "tr", "xxd", "sleep", "tee"})
_LISTS: Final = frozenset({"ls", "stat", "find", "du", "tree", "touch", "realpath", "basename"})
_SAID_OF: Final = {EntryKind.GONE: "removed {}", EntryKind.FOLDER: "made folder {}"}
"""How a judge quotes a change that leaves nothing to be read."""

WRITERS: Final = frozenset({"write_file", "edit_file", "apply_patch", "delete", "move"})
"""Tools that put out no more than what they were told to do."""


def only_says(record: ToolRecord) -> bool:
    """True for a command that prints what it was told to print, however it turns the words round."""
    programs = _programs(record)
    told = programs & _SAYS or (programs and "<<" in str(record.args.get("command")))
    return bool(told) and programs <= _TURNS_WORDS


def only_lists(record: ToolRecord) -> bool:
    """True for a call that shows that something is there, and nothing of what it is."""
    if record.tool == "search_files":
        return not record.args.get("text")
    programs = _programs(record)
    return record.tool in {"glob", "mdfind"} or (bool(programs) and programs <= _LISTS | _SAYS)


def only_shows(record: ToolRecord) -> bool:
    """True for a call that puts out a file as it is."""
    programs = _programs(record)
    return record.tool == "read_file" or (bool(programs) and programs <= SHOWS | _SAYS)


def _programs(record: ToolRecord) -> frozenset[str]:
    return frozenset(name.partition(":")[2] for name in record.tool_ids if name.startswith("shell:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A call by name, what is quoted of it, and the text around that; `path` is that of a file, empty for stdout.

    `at` is the call's place among those of the work; None for what the judge measured itself.
    """

    call: str
    record: ToolRecord
    at: int | None
    quote: str
    source: str
    path: str = ""


def proof_of(call: str, quote: str, demand: Demand, records: WorkRecords) -> Proof | str:
    """What a reference proves, or why it proves nothing. Calls that failed are somebody else's question."""
    at, wanted = records.number(call), folded(quote)
    record = records.measurement(call) if at is None else records.calls[at]
    if record is None:
        return f"{call[:40]!a} is no call of this work"
    proof = Proof(call=call, record=record, at=at, quote=wanted, source="")
    if not any(character.isalnum() for character in wanted):
        against = _against_silence(record, at, demand, records) if record.found_nothing else "nothing is quoted"
        return f"{call}: {against}" if against else replace(proof, quote=SILENCE, source=SILENCE)
    if not record.ok:
        return f"{call} has failed"
    objection = f"{call} did not put out or write {wanted[:80]!a}"
    for found, against in chain(_of_files(proof, demand, records), _of_stdout(proof, demand, records)):
        if not against:
            return found
        objection = against
    return f"{call}: {objection}" if not objection.startswith(call) else objection


def _against_silence(record: ToolRecord, at: int | None, demand: Demand, records: WorkRecords) -> str:
    """Why a search that found nothing is no answer: it is one to a question that asks for what was sought."""
    if demand.plausible or demand.acts or not (demand.answers or demand.tells):
        return "that nothing was found is no answer to what is asked for"
    asked = {word for word in words(demand.text) if len(word) >= SOUGHT_LETTERS_MIN}
    sought = " ".join(word for word in arguments(record).split() if "/" not in word and "." not in word)
    if asked.isdisjoint(words(sought)):
        return "it searched for something else"
    return "" if at is None else _against_what_followed(at, demand, records)


def _of_files(proof: Proof, demand: Demand, records: WorkRecords) -> Iterator[tuple[Proof, str]]:
    """Wherever the quotation stands in what a call of the work changed and left, and why that proves nothing."""
    if proof.at is None:
        return
    for change in proof.record.changed:
        if _SAID_OF.get(change.kind, "").format(change.path) == proof.quote:
            asked = demand.acts and any(is_named(change.path, name) for name in demand.paths)
            against = "" if asked else f"that {change.path} was changed is not what is asked for"
            yield replace(proof, source=proof.quote, path=change.path), against
    for path, text in records.written(proof.at):
        if source := _around(text, proof.quote):
            found = replace(proof, source=source, path=path)
            against = against_file(proof.record, path) or _against_file(found, proof.at, demand, records)
            yield found, against or _orders(source)


def _of_stdout(proof: Proof, demand: Demand, records: WorkRecords) -> Iterator[tuple[Proof, str]]:
    for piece in pieces(proof.record, measures=demand.measures):
        if _around(piece.text, proof.quote) and (source := _around(piece.around, proof.quote)):
            against = piece.against or (
                _against_talk(proof) if proof.at is None else _against_stdout(proof, proof.at, demand, records)
            )
            yield replace(proof, source=source), against or _orders(source)


def _orders(source: str) -> str:
    return "what it quotes from gives orders to the judge" if gives_orders(source) else ""


def _around(text: str, wanted: str) -> str:
    """What stands around the quotation in `text`; empty if it is not there, or too short to be told from chance."""
    whole = folded(text)
    found = whole.find(wanted)
    if found < 0:
        return ""
    if len(wanted.replace(" ", "")) < QUOTE_LETTERS_MIN and wanted not in map(folded, text.splitlines()):
        return ""
    return whole[max(0, found - NEAR_CHARACTERS) : found + len(wanted) + NEAR_CHARACTERS]


def _against_talk(proof: Proof) -> str:
    """Why a command of the judge measures nothing."""
    if only_says(proof.record):
        return "it only says what it was told to say"
    given = Counter(words(arguments(proof.record)))  # as often, too: "4 of 4" is more than what `of 4` was given
    return "the words stand in the call itself" if Counter(words(proof.quote)) <= given else ""


def _against_file(proof: Proof, at: int, demand: Demand, records: WorkRecords) -> str:
    """A file that a criterion names may be written by hand; a measurement may not."""
    named = any(is_named(proof.path, name) for name in demand.paths)
    made = any(records.last_change(name) for name in demand.paths if not records.is_input(name))
    if made and not named:
        return f"it quotes {proof.path}, which is not the file that is asked for"
    if demand.plausible or (named and not demand.measures):
        return ""
    said = "it only says what it was told to say" if only_says(proof.record) else ""
    return _against_own_words(proof, at, demand, records) or said


def _against_stdout(proof: Proof, at: int, demand: Demand, records: WorkRecords) -> str:
    echo = "the words stand in the call itself" if _is_echo(proof.record, proof.quote) else ""
    if against := _against_call(proof, demand, records) or echo or _against_what_followed(at, demand, records):
        return against
    if any(mentions(proof.record, name) for name in demand.paths) and not demand.measures:
        return ""
    return _against_own_words(proof, at, demand, records)


def _against_call(proof: Proof, demand: Demand, records: WorkRecords) -> str:
    """Why a call that only says, lists or shows something is no proof of what is asked for."""
    record = proof.record
    if record.tool in WRITERS or only_says(record):
        return "it only says what it was told to say"
    may_list = demand.plausible or demand.tells or demand.acts
    if only_lists(record) and (not may_list or demand.measures or _is_readable(demand, records)):
        return "that something is there does not show what it is"
    if only_shows(record) and not (demand.plausible or demand.tells or _is_shown(proof, demand, records)):
        return "that a file says so is nothing that this work did"
    return ""


def _against_own_words(proof: Proof, at: int, demand: Demand, records: WorkRecords) -> str:
    if says(demand.text, proof.quote):
        return "it only repeats the criterion"
    return "the executor wrote these words itself" if records.is_own_word(proof.quote, at) else ""


def _is_echo(record: ToolRecord, quote: str) -> bool:
    """True if a command line holds every word that it puts out, in whatever order."""
    given = arguments(record)
    return says(given, quote) or (record.tool == "shell" and set(words(quote)) <= set(words(given)))


def _is_readable(demand: Demand, records: WorkRecords) -> bool:
    """True if a file that the criterion names was made and can be read, so that more than its name can be shown."""
    return any(is_named(path, name) for name in demand.paths if not name.endswith("/") for path in records.texts)


def _is_shown(proof: Proof, demand: Demand, records: WorkRecords) -> bool:
    """True if the words stand in a file that this work made, or one that the criterion names is shown."""
    if any(proof.quote in folded(file.text) for file in records.texts.values()):
        return True
    return not demand.measures and any(mentions(proof.record, name) for name in demand.paths)


def _against_what_followed(at: int, demand: Demand, records: WorkRecords) -> str:
    """What the call spoke of was changed by a later one; or what it measured failed later."""
    record, known = records.calls[at], records.calls[: at + 1]
    for later in records.calls[at + 1 :]:
        if demand.measures and not later.ok and record.tool_ids <= later.tool_ids:
            return f"the same program failed afterwards: {later.target[:200]!a}"
        for path in (change.path for change in later.changed if not _is_cache(change.path)):
            named = any(is_named(path, name) for name in demand.paths)
            if (named and mentions(record, path)) or (demand.measures and any(mentions(one, path) for one in known)):
                return f"{path} was changed afterwards"
    return ""


def _is_cache(path: str) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in PurePosixPath(path).parts)
