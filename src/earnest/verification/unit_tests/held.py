"""Which containers do both sides hold, so that a change on one side is made on the other? (Both sides.)

A list that a test hands over can change during the call, or during a later one if the submission kept it; one that the
submission answers with may be its own, which the test can change. The last few that are small are held by both sides
under one number and compared before and after every call, as long as the test has them.
"""

import sys
from collections.abc import Sequence
from typing import Any, Final

from earnest.verification.unit_tests.library import Malformed, Node
from earnest.verification.unit_tests.values import Opaque, Reader, Writer

HELD_MAX: Final = 16
ITEMS_MAX: Final = 256
ANSWER_ITEMS_MAX: Final = 1024  # in all containers of an answer
OURS: Final = 2  # references to a container that nobody has but us: in `containers`, and as an argument


class Held:
    """One side's copies, by number, and what each held when the sides last agreed."""

    def __init__(self, opaque: Opaque) -> None:
        self.containers: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self._next = 0
        self._opaque = opaque
        self._agreed: dict[int, Node] = {}

    def hold(self, containers: Sequence[Any]) -> None:
        """Hold what one message handed over; both sides count alike. It is agreed upon by `agree`."""
        for number, container in enumerate(containers, start=self._next):
            self.containers[number] = container
            self.numbers[id(container)] = number
        self._next += len(containers)

    def hold_answer(self, containers: Sequence[Any], table: Sequence[Any]) -> None:
        """Hold what an answer handed over in its table, if that is small."""
        if sum(map(len, table)) <= ANSWER_ITEMS_MAX:
            self.hold(containers[:HELD_MAX])

    def agree(self) -> None:
        """Both sides hold the same now."""
        self._agreed = {number: self._picture(container) for number, container in self.containers.items()}

    def changes(self, writer: Writer) -> list[Node]:
        """What is not as agreed: [number, content]."""
        return [
            [number, writer.content(container)]
            for number, container in self.containers.items()
            if self._picture(container) != self._agreed.get(number)
        ]

    def _picture(self, container: object) -> Node:
        """All that a container holds, down to what is held itself."""
        writer = Writer(self._opaque, self.numbers)
        return [writer.content(container), writer.finish()]

    def apply(self, reader: Reader, changes: Node) -> None:
        """Make our copies as the other side's."""
        if type(changes) is not list:
            raise Malformed("no changes")
        for number, content in changes:
            if type(number) is not int:
                raise Malformed("no number")
            reader.fill(self.containers[number], content)

    def superfluous(self) -> list[int]:
        """What need not be held any longer: what is large, what nobody else has, and all but the last few."""
        left = [number for number in self.containers if sys.getrefcount(self.containers[number]) <= OURS]
        left += [number for number, each in self.containers.items() if len(each) > ITEMS_MAX and number not in left]
        rest = [number for number in self.containers if number not in left]
        return left + rest[:-HELD_MAX]

    def drop(self, numbers: Sequence[int]) -> None:
        """Hold these no longer."""
        for number in numbers:
            self.numbers.pop(id(self.containers.pop(number)), None)
            self._agreed.pop(number, None)
