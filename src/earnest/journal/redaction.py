"""Facts whose texts were removed: another body stands under the leaf that was sealed, and a later fact says so."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact

REDACTED: Final = "journal.redacted"
FACTS_AT_ONCE: Final = 10_000
"""That one such fact names; it must fit into a body."""
REDACTABLE: Final = (".opened", ".changed")
"""Kinds of facts that hold rows end so. Of others, as of money that was booked, none may be redacted."""


def redact(transaction: Transaction, bodies: Mapping[int, JsonObject], *, subject: str, at_ms: int) -> None:
    """Put other bodies into recorded facts, and record of each the leaf that it has now."""
    leaves = list(transaction.rewrite(bodies).items())
    for start in range(0, len(leaves), FACTS_AT_ONCE):
        now: JsonObject = {str(seq): leaf.hex() for seq, leaf in leaves[start : start + FACTS_AT_ONCE]}
        transaction.record(Fact(kind=REDACTED, subject=subject, at_ms=at_ms, body={"leaves": now}))


def redactions_in(reader: BooksReader) -> dict[int, bytes]:
    """By the number of each redacted fact, the leaf of what stands there now."""
    return {seq: leaf for fact in reader.facts(kind=REDACTED) if fact.is_intact for seq, leaf in _leaves(fact)}


def is_redacted(fact: StoredFact, redactions: Mapping[int, bytes]) -> bool:
    """True if what stands there is what a later fact says was put there."""
    return fact.kind.endswith(REDACTABLE) and redactions.get(fact.seq) == fact.leaf_as(fact.seq)


def _leaves(fact: StoredFact) -> Iterator[tuple[int, bytes]]:
    leaves = fact.body.get("leaves")
    with suppress(ValueError):  # what somebody recorded past this file redacts nothing
        for seq, leaf in leaves.items() if isinstance(leaves, dict) else ():
            if int(seq) < fact.seq:
                yield int(seq), bytes.fromhex(str(leaf))
