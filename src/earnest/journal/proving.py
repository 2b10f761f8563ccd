"""Proofs about the facts in the books, at a cost that grows with the logarithm of their number.

Heads hold the subtrees that they were made of, and so they are the stored levels of the tree: whatever subtree a proof
needs is that of the last head within it, grown on by the few leaves that follow it there.
"""

from collections.abc import Iterator
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Broken, Refused
from earnest.journal.heads import SEALED, Head, seal_in, subtrees_in
from earnest.journal.merkle import (
    Frontier,
    consistency_proof,
    inclusion_proof,
    verify_consistency,
    verify_inclusion,
)

LEAVES_READ: Final = 64
"""So few leaves are read rather than looked for under a head: about what lies between two of them."""


def newest_head(reader: BooksReader) -> Head | None:
    """The last head in the journal; None where nothing is sealed."""
    return next((head for head, _ in sealed_heads(reader)), None)


def head_at(reader: BooksReader, size: int) -> Head:
    """The head of the first `size` facts. Raises `Refused("not_found")` where the log was not sealed there."""
    for head, _ in sealed_heads(reader, size + 1):
        return head
    raise Refused("not_found", f"there is no checkpoint of {size} facts")


class Prover:
    """Proofs under one head. Every proof is verified before it is given: a journal that was altered gives none."""

    def __init__(self, reader: BooksReader, head: Head) -> None:
        self._reader = reader
        self._head = head
        self._roots: dict[tuple[int, int], bytes] = {}
        self._blocks: dict[int, list[bytes]] = {}

    def inclusion(self, seq: int) -> tuple[bytes, ...]:
        """The path of fact `seq`. Raises `Refused("not_sealed")` where it comes after the head, `Broken`."""
        if not 1 <= seq <= self._head.size:
            raise Refused("not_sealed", f"fact {seq} is not sealed yet: the newest checkpoint has {self._head.size}")
        proof = inclusion_proof(seq - 1, self._head.size, self._root_of)
        leaf = self._leaves(seq - 1, seq)[0]
        if not verify_inclusion(leaf=leaf, index=seq - 1, size=self._head.size, proof=proof, root=self._head.root):
            raise _altered(f"fact {seq} has no place under the head of {self._head.size} facts")
        return proof

    def consistency(self, old: Head) -> tuple[bytes, ...]:
        """That the log only grew since `old`. Raises `Refused("not_found")` for a later head, `Broken`."""
        if not 0 < old.size <= self._head.size:
            raise Refused("not_found", f"a checkpoint of {old.size} facts is none before that of {self._head.size}")
        proof = consistency_proof(old.size, self._head.size, self._root_of)
        is_true = verify_consistency(
            first=old.size, first_root=old.root, second=self._head.size, second_root=self._head.root, proof=proof
        )
        if not is_true:
            raise _altered(f"the heads of {old.size} and {self._head.size} facts are not of one log")
        return proof

    def _root_of(self, first: int, last: int) -> bytes:
        """The root of the leaves from index `first` up to `last`, a subtree of some head's tree."""
        known = self._roots.get((first, last))
        if known is None:
            known = self._roots[first, last] = self._grown(first, last).root()
        return known

    def _grown(self, first: int, last: int) -> Frontier:
        tree = Frontier()
        if last - first > LEAVES_READ:
            tree = self._under_a_head(first, last)
        for leaf in self._leaves(first + tree.size, last):
            tree.append(leaf)
        return tree

    def _under_a_head(self, first: int, last: int) -> Frontier:
        """As much of it as the last head within it knows.

        A head's subtrees are those of the bits of its size. What lies in it from `first` on stands in the lower ones,
        as long as it has not grown so large that it was merged with what comes before.
        """
        end = min(last, first + (first & -first) - 1) if first else last
        for fact in self._reader.facts(kind=SEALED, after_seq=first + 1, up_to_seq=end + 1, newest_first=True, limit=1):
            size = fact.seq - 1 - first
            try:
                subtrees = subtrees_in(fact.body)
                return Frontier(size, subtrees[len(subtrees) - size.bit_count() :])
            except ValueError as error:
                raise _altered(f"fact {fact.seq}, a head, was changed: {error}") from error
        return Frontier()

    def _leaves(self, first: int, last: int) -> list[bytes]:
        leaves: list[bytes] = []
        while first + len(leaves) < last:
            block, at = divmod(first + len(leaves), LEAVES_READ)
            part = self._block(block)[at : at + last - first - len(leaves)]
            if not part:
                raise _altered(f"fact {first + len(leaves) + 1} is missing")
            leaves += part
        return leaves

    def _block(self, number: int) -> list[bytes]:
        """The leaves that are read together; neighbouring facts share them."""
        if number not in self._blocks:
            self._blocks[number] = [*self._reader.leaves(after_seq=number * LEAVES_READ, limit=LEAVES_READ)]
        return self._blocks[number]


def sealed_heads(reader: BooksReader, seq: int | None = None) -> Iterator[tuple[Head, int]]:
    """The head that is fact `seq`, or the last one, and when it was sealed; nothing where there is none."""
    after_seq = 0 if seq is None else seq - 1
    for fact in reader.facts(kind=SEALED, after_seq=after_seq, up_to_seq=seq, newest_first=True, limit=1):
        try:
            head = seal_in(fact.body).head
        except ValueError as error:
            raise _altered(f"fact {fact.seq}, a head, was changed: {error}") from error
        if head.size != fact.seq - 1:
            raise _altered(f"fact {fact.seq} is a head of {head.size} facts")
        yield head, fact.at_ms


def _altered(why: str) -> Broken:
    return Broken(f"{why}: the journal must be verified")
