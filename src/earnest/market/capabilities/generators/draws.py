"""Choices that follow from a seed, alike on every machine and in every version of Python."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of choices: SHA-256 over the seed, a colon and a counter from 0, each read as one large number."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._count = 0

    def below(self, bound: int) -> int:
        """Less than `bound`. The bias of the remainder is too small to matter: `bound` is far below 2^256."""
        block = hashlib.sha256(self._seed + b":%d" % self._count).digest()
        self._count += 1
        return int.from_bytes(block, "big") % bound

    def between(self, low: int, high: int) -> int:
        """`low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def one(self, items: Sequence[T]) -> T:
        """One of them."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different ones, at most as many as there are, in the order drawn."""
        drawn: dict[int, None] = {}
        while len(drawn) < min(count, len(items)):
            drawn[self.below(len(items))] = None
        return [items[index] for index in drawn]
