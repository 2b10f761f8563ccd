"""The parts of a kept fact, and its hash."""

import hashlib
import json
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, cast

from earnest.foundation.canonical import INTEGER_MAX, JsonObject, canonical_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact

KIND_CHARACTERS_MAX: Final = 64
SUBJECT_CHARACTERS_MAX: Final = 512
BODY_BYTES_MAX: Final = 4 * 1024 * 1024

FactRow: TypeAlias = tuple[int, int, str, str, bytes, bytes]
"""seq, at_ms, kind, subject, body, leaf: the columns of `facts`."""


class StoredFact(NamedTuple):
    """A fact as it stands in the books. `seq` counts from 1 without gaps; `body_json` is RFC 8785; `leaf` 32 bytes."""

    seq: int
    at_ms: int
    kind: str
    subject: str
    body_json: bytes
    leaf: bytes

    @property
    def body(self) -> JsonObject:
        """The body as a JSON object. Raises `ValueError` if it was changed into something else."""
        body = json.loads(self.body_json)
        if not isinstance(body, dict):
            raise ValueError(f"the body of fact {self.seq} is no JSON object")  # noqa: TRY004 - data, not a type error
        return cast("JsonObject", body)

    @property
    def is_intact(self) -> bool:
        """True if the content is the one that the leaf was made of."""
        return self.leaf == self.leaf_as(self.seq)

    def leaf_as(self, seq: int) -> bytes:
        """The leaf of this content, were its number `seq`; empty if no recorded fact can have such content."""
        try:
            return leaf_hash(seq, self.at_ms, self.kind, self.subject, self.body_json)
        except (TypeError, ValueError):  # altered by hand: a text that is no UTF-8, a value of another type
            return b""


def leaf_hash(seq: int, at_ms: int, kind: str, subject: str, body_json: bytes) -> bytes:
    """SHA-256(0x00 || RFC 8785 form of {at_ms, body, kind, seq, subject}), 32 bytes (RFC 9162 §2.1.1).

    `body_json` is put in as it is: the form around it can be read in one way only, so no other content has this hash.
    """
    before = b'\x00{"at_ms":%d,"body":' % at_ms
    after = b',"kind":%b,"seq":%d,"subject":%b}' % (_quoted(kind), seq, _quoted(subject))
    return hashlib.sha256(before + body_json + after).digest()


@lru_cache(maxsize=1_024)
def _quoted(text: str) -> bytes:
    """Kinds are few, and facts about one subject come together."""
    return canonical_bytes(text)


def row_of(fact: Fact, seq: int) -> FactRow:
    """The row that `fact` becomes. Raises `Refused("fact_not_recordable")` for what is no JSON or passes a limit."""
    if not 1 <= len(fact.kind) <= KIND_CHARACTERS_MAX or len(fact.subject) > SUBJECT_CHARACTERS_MAX:
        raise Refused("fact_not_recordable", f"kind or subject of a fact is too long: {fact.kind[:80]!r}")
    if "\0" in fact.kind or "\0" in fact.subject:  # no text of PostgreSQL
        raise Refused("fact_not_recordable", f"kind or subject of a fact has a NUL character: {fact.kind[:80]!r}")
    if type(fact.at_ms) is not int or not 0 <= fact.at_ms <= INTEGER_MAX:
        raise Refused("fact_not_recordable", f"{fact.kind} is at no instant: {fact.at_ms!r}")
    try:
        body = canonical_bytes(fact.body)
        leaf = leaf_hash(seq, fact.at_ms, fact.kind, fact.subject, body)
    except ValueError as error:
        raise Refused("fact_not_recordable", f"{fact.kind} has no JSON form: {error}") from error
    if len(body) > BODY_BYTES_MAX or body[:1] != b"{":
        raise Refused("fact_not_recordable", f"the body of {fact.kind} is no object of at most {BODY_BYTES_MAX} bytes")
    return seq, fact.at_ms, fact.kind, fact.subject, body, leaf
