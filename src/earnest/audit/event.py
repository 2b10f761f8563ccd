"""One line of the audit log, which holds the hash of the line before it.

A line is the RFC 8785 form of an object with the members below. `hash` is the SHA-256 of that form without `hash`;
`prev` is the `hash` of the line before.
"""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from json.encoder import encode_basestring
from typing import Final, NamedTuple, TypeAlias

from earnest.foundation.canonical import canonical_text

Scalar: TypeAlias = str | int | float | bool | None

GENESIS: Final = "0" * 64
"""`prev` of the first line."""
LINE_BYTES_MAX: Final = 32_768
TEXT_CHARACTERS_MAX: Final = 200
NOTE_SENDER: Final = "auditor"

_HASH_MEMBER: Final = b',"hash":"'
_HASH_BYTES: Final = len(_HASH_MEMBER) + 64 + 1


class Note(StrEnum):
    """Kinds of the auditor's own lines. The dot keeps them apart from messages, whose kinds are class names."""

    REPAIRED = "audit.repaired"
    """`cut_bytes` of a torn last line were cut off."""
    UNLOGGED = "audit.unlogged"
    """`count` messages could not be written."""
    DROPPED = "audit.dropped"
    """`count` messages were lost by observers of the bus."""
    WINDOW = "audit.window"
    """A periodic report was made; the next window begins. `silence_ms` is the limit that it used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPosition:
    """The end of a whole line: how many bytes of its file and how many lines lead to it, and its hash."""

    offset_bytes: int = 0
    lines: int = 0
    head: str = GENESIS


class LogEvent(NamedTuple):
    """One line. A tuple, because a million of them are read at a time.

    `digest` is that of the whole payload (`sha256:…`, empty if it could not be encoded), `fields` the few of its values
    that reports and calibration need. `violation` names a broken boundary or is empty. `repeat` marks a message that
    this log had seen before. The auditor's own notes have no id and no run.
    """

    seq: int
    at_ms: int
    run_id: str
    id: str
    sender: str
    kind: str
    causation_id: str | None
    digest: str
    fields: dict[str, Scalar]
    violation: str = ""
    repeat: bool = False


class LogLine(NamedTuple):
    """An event with its place in the chain."""

    event: LogEvent
    prev: str
    hash: str


def plain(text: str) -> str:
    """At most 200 printable characters; anything else becomes `?`. Names in a log never steer a terminal."""
    if len(text) <= TEXT_CHARACTERS_MAX and text.isprintable():
        return text
    return "".join(character if character.isprintable() else "?" for character in text[:TEXT_CHARACTERS_MAX])


def encode_line(event: LogEvent, prev: str) -> tuple[bytes, str]:
    """The line, its end of line included, and its hash."""
    cause = "null" if event.causation_id is None else encode_basestring(event.causation_id)
    fields = canonical_text(event.fields)
    head = f'{{"at_ms":{event.at_ms},"causation_id":{cause},"digest":"{event.digest}","fields":{fields}'
    tail = (
        f',"id":{encode_basestring(event.id)},"kind":{encode_basestring(event.kind)},"prev":"{prev}"'
        f',"repeat":{"true" if event.repeat else "false"},"run_id":{encode_basestring(event.run_id)}'
        f',"sender":{encode_basestring(event.sender)},"seq":{event.seq},"violation":"{event.violation}"}}'
    )
    digest = hashlib.sha256(f"{head}{tail}".encode()).hexdigest()
    return f'{head},"hash":"{digest}"{tail}\n'.encode(), digest


def decode_line(line: bytes) -> LogLine:
    """Read a line without its end of line. Raises `ValueError` unless it is an event and its hash is right."""
    start = line.find(_HASH_MEMBER)
    digest = hashlib.sha256(line[:start] + line[start + _HASH_BYTES :]).hexdigest()
    try:
        members = json.loads(line.decode())
        prev, claimed = members.pop("prev"), members.pop("hash")
        shape = tuple(map(type, members.values()))
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("it is not an event") from error
    if claimed != digest:
        raise ValueError("it was changed: its hash is wrong")
    if tuple(members) != _MEMBERS or shape not in _SHAPES:
        raise ValueError("it is not an event")
    return LogLine(LogEvent(**members), prev, digest)


_MEMBERS: Final = tuple(sorted(LogEvent._fields))
_SHAPES: Final = {(int, cause, str, dict, str, str, bool, str, str, int, str) for cause in (str, type(None))}
"""The types of the members in their order; a first message has no cause."""
