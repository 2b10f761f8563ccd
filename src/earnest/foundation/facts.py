"""A fact: something that happened, in the words of the room that saw it."""

from dataclasses import dataclass

from earnest.foundation.canonical import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """`kind` is `room.event` (listed in docs/facts.md), `subject` what it is about, `at_ms` when.

    A fact is recorded by a transaction's `record` and never changes afterwards.
    """

    kind: str
    subject: str
    at_ms: int
    body: JsonObject
