"""Containers that both sides hold, so that a change on one side is made on the other. (Both sides.)

A list that a test hands over can change during the call, or during a later one if the submission kept it; one that the
submission answers with may be its own, which the test can change. The last few that are small are held by both sides
under one number and compared before and after every call, as long as the test has them.
"""

import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from marshal import dumps
from operator import is_
from typing import Any, Final

from earnest.verification.unit_tests.library import Malformed, Node
from earnest.verification.unit_tests.values import MessageReader, MessageWriter, Opaque

HELD_MAX: Final = 16
ITEMS_MAX: Final = 256
ANSWER_ITEMS_MAX: Final = 1024  # in all containers of an answer
SCALARS: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
UNCHANGING: Final = SCALARS | {range, Decimal, Fraction}
QUICK: Final = frozenset({list, dict, set})
LOOK_EVERY: Final = 32  # calls, for what nobody has any longer
OURS: Final = 2  # references to a container that nobody has but us: in `containers`, and as an argument


class Held:
    """One side's copies, by number, and what each held when the sides last agreed."""

    def __init__(self, opaque: Opaque) -> None:
        self.containers: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self._next = 0
        self._opaque = opaque
        self._items: dict[int, tuple[object, ...]] = {}
        self._lists: list[Any] = []
        self._image = b""
        self._quiet = 0
        self._slow: list[int] = []
        self._agreed: dict[int, Node] = {}  # None where the items tell all

    def hold(self, containers: Sequence[Any]) -> None:
        """Hold what one message handed over; both sides count alike. It is agreed upon by `agree`."""
        for number, container in enumerate(containers, start=self._next):
            self.containers[number] = container
            self.numbers[id(container)] = number
        self._next += len(containers)
        self._slow = list(self.containers)

    def hold_answer(self, containers: Sequence[Any], table: Sequence[Any]) -> None:
        """Hold what an answer handed over in its table, if that is small."""
        if sum(map(len, table)) <= ANSWER_ITEMS_MAX:
            self.hold(containers[:HELD_MAX])

    def agree(self) -> None:
        """Both sides hold the same now."""
        for number, container in self.containers.items():
            if not self._is_same(container, self._items.get(number)):
                items = self._items[number] = _items(container)
                self._agreed[number] = None if self._is_plain(items) else self._picture(container)
            elif self._agreed[number] is not None:
                self._agreed[number] = self._picture(container)
        self._sort_out()

    def changes(self, writer: MessageWriter) -> list[Node]:
        """What is not as agreed: [number, content]."""
        return [[number, writer.content(self.containers[number])] for number in self._changed(self.containers)]

    @property
    def is_same(self) -> bool:
        """True if all is as agreed."""
        return self._are_lists_same() and not self._changed(self._slow)

    @property
    def is_quiet(self) -> bool:
        """True if there is nothing to tell: all is as agreed, and nothing is to be dropped."""
        self._quiet += 1
        return self.is_same and not (self.containers and self._quiet % LOOK_EVERY == 0 and self.superfluous())

    def _are_lists_same(self) -> bool:
        """The quick look at what holds scalars alone: all of it at once. What is written is only ever compared."""
        lists = self._lists
        try:
            return not lists or dumps(lists, 2) == self._image
        except ValueError:  # something else is in them now
            return False

    def _sort_out(self) -> None:
        """Which containers can be compared at once: those that hold scalars alone."""
        quick = {number for number, each in self.containers.items() if type(each) in QUICK and _has_scalars(each)}
        self._slow = [number for number in self.containers if number not in quick]
        self._lists = [self.containers[number] for number in quick]
        self._image = dumps(self._lists, 2)

    def _changed(self, numbers: Iterable[int]) -> list[int]:
        held = self.containers
        return [
            number
            for number in numbers
            if not self._is_same(container := held[number], self._items.get(number))
            or (self._agreed[number] is not None and self._picture(container) != self._agreed[number])
        ]

    def _is_same(self, container: Any, items: tuple[object, ...] | None) -> bool:
        """True if it holds the very objects that it held."""
        if items is None or type(container) is bytearray:
            return False
        if isinstance(container, dict):
            return 2 * len(container) == len(items) and all(map(is_, (*container, *container.values()), items))
        return len(container) == len(items) and all(map(is_, container, items))

    def _is_plain(self, items: tuple[object, ...]) -> bool:
        """True if they cannot change, or are held themselves: then the same objects are the same content."""
        return all(type(item) in UNCHANGING or id(item) in self.numbers for item in items)

    def _picture(self, container: object) -> Node:
        """All that a container holds, down to what is held itself."""
        writer = MessageWriter(self._opaque, self.numbers)
        return [writer.content(container), writer.finish()]

    def apply(self, reader: MessageReader, changes: Node) -> None:
        """Make our copies as the other side's."""
        if type(changes) is not list:
            raise Malformed("no changes")
        for number, content in changes:
            if type(number) is not int:
                raise Malformed("no number")
            reader.fill(self.containers[number], content)

    def superfluous(self) -> list[int]:
        """What need not be held any longer: what is large, what nobody else has, and all but the last few."""
        held = self.containers
        self._lists, self._slow = [], list(held)  # no reference but that in `containers`
        left = [number for number in held if sys.getrefcount(held[number]) <= OURS or len(held[number]) > ITEMS_MAX]
        if not left and len(held) <= HELD_MAX:
            return left
        rest = [number for number in self.containers if number not in left]
        return left + rest[:-HELD_MAX]

    def drop(self, numbers: Sequence[int]) -> None:
        """Hold these no longer."""
        for number in numbers:
            self.numbers.pop(id(self.containers.pop(number)), None)
            self._agreed.pop(number, None)
        self._slow = list(self.containers)
        if numbers:  # what holds one of them is to be looked at afresh
            self._items.clear()


def _items(container: Any) -> tuple[object, ...]:
    return (*container, *container.values()) if isinstance(container, dict) else tuple(container)


def _has_scalars(container: Any) -> bool:
    return SCALARS.issuperset(map(type, _items(container)))
