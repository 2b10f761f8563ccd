"""The protocol of a generator of test jobs, and the choices that it makes."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes

T = TypeVar("T")


class Draws:
    """A stream of choices that follow from a seed, alike on every machine and in every version of Python.

    SHA-256 over the seed, a colon and a counter from 0, each read as one large number.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """`question` is what the agent sees: `task` in words, `input`, `answer` (its form). `key` is what grades."""

    question: JsonObject
    key: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """`grade(key, answer)` says what is wrong with an answer, any JSON at all; empty if nothing is.

    A change of `make` or `grade` is a new `version`, so that old grades can still be told from new ones. `hidden`: the
    question does not show by what the answer is graded.
    """

    name: str
    version: str
    categories: tuple[str, ...]
    hidden: bool = False
    minutes: int = 3
    make: Callable[[Draws], Instance]
    grade: Callable[[JsonValue, JsonValue], str]


def is_same(one: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON: `true` is not 1, and the order of members does not matter."""
    return canonical_bytes(one) == canonical_bytes(other)


def compare_members(key: JsonValue, answer: JsonValue) -> str:
    """A grade: the answer is an object with the members of the key, each equal."""
    if not isinstance(key, dict) or not isinstance(answer, dict):
        return "the answer is no JSON object"
    if set(answer) != set(key):
        return f"the members must be {', '.join(sorted(key))}"
    wrong = [name for name in sorted(key) if not is_same(key[name], answer[name])]
    return f"wrong: {', '.join(wrong)}" if wrong else ""


def compare_items(key: JsonValue, answer: JsonValue) -> str:
    """A grade: the answer is a list of as many items as the key's, each equal."""
    if not isinstance(key, list) or not isinstance(answer, list):
        return "the answer is no JSON list"
    if len(answer) != len(key):
        return f"the list must have {len(key)} items"
    wrong = [str(index) for index, (one, other) in enumerate(zip(key, answer, strict=True)) if not is_same(one, other)]
    return f"wrong items (from 0): {', '.join(wrong)}" if wrong else ""
