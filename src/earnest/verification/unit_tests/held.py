"""Which containers do both sides hold, so that a change on one side is made on the other? (Both sides.)

A list that a test hands over can change during the call, or during a later one if the submission kept it. The last few
that are small are held by both sides under one number and compared before and after every call.
"""

from collections.abc import Sequence
from typing import Final

from earnest.verification.unit_tests.library import Malformed, Node
from earnest.verification.unit_tests.values import Opaque, Reader, Writer

HELD_MAX: Final = 16
ITEMS_MAX: Final = 256


class Held:
    """One side's copies, by number, and what each held when the sides last agreed."""

    def __init__(self, opaque: Opaque) -> None:
        self.containers: dict[int, object] = {}
        self.numbers: dict[int, int] = {}
        self._opaque = opaque
        self._agreed: dict[int, Node] = {}

    def hold(self, first: int, containers: Sequence[object]) -> None:
        """Hold what one request handed over, numbered from `first`. It is agreed upon by `agree`."""
        for number, container in enumerate(containers, start=first):
            self.containers[number] = container
            self.numbers[id(container)] = number

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
        """What need not be held any longer: what is large, and all but the last few."""
        large = [number for number, each in self.containers.items() if len(each) > ITEMS_MAX]  # type: ignore[arg-type]
        rest = [number for number in self.containers if number not in large]
        return large + rest[:-HELD_MAX]

    def drop(self, numbers: Sequence[int]) -> None:
        """Hold these no longer."""
        for number in numbers:
            self.numbers.pop(id(self.containers.pop(number)), None)
            self._agreed.pop(number, None)
