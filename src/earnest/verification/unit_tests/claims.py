"""Answers of the submission about its own objects that are worth nothing, for they could not be otherwise.

Where a value of ours meets one of the submission, we decide: what came over as plain data is compared here, an object
that stayed there never equals a value of ours, and its order among our numbers, or a number that it makes of one of
ours, is flagged. Some questions only the submission can answer: does this hold that, is this object of yours equal to
that one or less, does it begin with that? Tests may ask them, and a lie about one thing is a bug that they have to
find. But what says yes to everything is no answer: each object that said yes is asked what it must deny, and one that
says yes again is flagged. It is asked after its own test or a later one, as chance has it, among decoys: what it has
been asked already, whose answer does not count.

=================== =========================================================================
said yes to         has to deny
=================== =========================================================================
`a == b`            to be equal to some other object of its class that the tests met
`a < b`, `a > b`    the same of itself
`a <= b`, `a >= b`  the reverse, of `b` or of some other object of its class
`x in a`            to hold something like `x`: the next letters, far numbers, an odd text
`a.startswith(x)`   the same, of what it begins or ends with
=================== =========================================================================
"""

import decimal
import fractions
import random
from collections.abc import Iterator
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL, Lost
from earnest.verification.unit_tests.owned import OwnedObject

CONSTANT: Final = "an object of the submission says yes to whatever it is asked"
OWN_ORDER: Final = "a test lets an object of the submission compare itself with a value"
OWN_NUMBER: Final = "a test lets an object of the submission calculate with a number, and make a number of it"

STRICT: Final = frozenset({"__lt__", "__gt__"})
ORDERS: Final = STRICT | {"__le__", "__ge__"}
PREFIXES: Final = frozenset({"startswith", "endswith"})
CLAIMED: Final = ORDERS | PREFIXES | {"__eq__", "__contains__"}
ARITHMETIC: Final = frozenset(
    f"__{side}{name}__"
    for side in ("", "r", "i")
    for name in (
        *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "lshift", "rshift", "and"),
        *("or", "xor"),
    )
)
MAGNITUDES: Final = frozenset({"__abs__", "__neg__", "__pos__", "__round__", "__trunc__", "__floor__", "__ceil__"})
NUMBERS: Final = (int, float, complex, decimal.Decimal, fractions.Fraction)
CLAIMS_MAX: Final = 500  # that are asked about; a run holds seldom ten
MET_MAX: Final = 30  # objects of one class to be asked about
AT_ONCE: Final = 0.5
DECOY: Final = -1
ODD: Final = ("\0\0", -(1 << 40), 0.123456789)
"""What an object that holds neither texts nor numbers does not hold."""

_Claim = tuple[OwnedObject, str, object]
"""Who was asked, what, about whom or what."""


class Claims:
    """What was said in this run, and by whom."""

    def __init__(self) -> None:
        self._met: dict[type, list[OwnedObject]] = {}
        self._said: list[_Claim] = []
        self._chance = random.SystemRandom()
        self._open: dict[int, _Claim] = {}
        self._differences: set[int] = set()

    def meet(self, thing: OwnedObject) -> None:
        """An object is there that others of its class may have to be unlike."""
        others = self._met.setdefault(type(thing), [])
        if len(others) < MET_MAX:
            others.append(thing)

    def heard(self, mine: OwnedObject, name: str, given: tuple[object, ...], answer: object) -> None:
        """What an operation of an object answered. An object as an answer counts once it is taken for true."""
        other = given[0] if given else None
        if name in CLAIMED and isinstance(answer, OwnedObject):
            self._open[answer.__number__] = (mine, name, other)
        elif name in CLAIMED and answer is not NotImplemented:
            self._claimed((mine, name, other), is_yes=bool(answer))
        elif isinstance(other, NUMBERS) if name in ARITHMETIC else self._is_magnitude(mine, name):
            self._calculated(answer)

    def taken(self, thing: OwnedObject) -> None:
        """An object was taken for true."""
        if thing.__number__ in self._open:
            self._claimed(self._open.pop(thing.__number__), is_yes=True)

    def between(self) -> None:
        """After a test: ask some of those who said yes for what they must deny. Who denies nothing is asked again."""
        said, self._said = self._said, []  # what is asked below is no claim of a test
        now = [claim for claim in said if self._chance.random() < AT_ONCE]
        self._said = [claim for claim in said if not any(claim is each for each in now)] + self._undenied(now)

    def settle(self) -> None:
        """At the end: ask all who are left."""
        said, self._said = self._said, []
        if self._undenied(said):
            CHANNEL.flags.add(CONSTANT)

    def _undenied(self, said: list[_Claim]) -> list[_Claim]:
        """Claims whose objects denied nothing of what they must deny. Which question comes when is left to chance."""
        questions = [(at, question) for at, claim in enumerate(said) for question in self._questions(*claim)]
        questions += [(DECOY, claim) for claim in said]
        self._chance.shuffle(questions)
        denied: set[int] = set()
        for at, question in questions:
            if at not in denied and not _says_yes(question) and at != DECOY:
                denied.add(at)
        return [claim for at, claim in enumerate(said) if at not in denied]

    def _claimed(self, claim: _Claim, *, is_yes: bool) -> None:
        _, name, other = claim
        if name in ORDERS and not isinstance(other, OwnedObject):
            CHANNEL.flags.add(OWN_ORDER)
        elif is_yes and len(self._said) < CLAIMS_MAX:
            self._said.append(claim)

    def _is_magnitude(self, mine: OwnedObject, name: str) -> bool:
        """True for the size of a difference between an object and a number of ours."""
        return name in MAGNITUDES and mine.__number__ in self._differences

    def _calculated(self, answer: object) -> None:
        """An object made something of a number of ours. A number is its word; an object may still become one."""
        if isinstance(answer, NUMBERS):
            CHANNEL.flags.add(OWN_NUMBER)
        elif isinstance(answer, OwnedObject):
            self._differences.add(answer.__number__)

    def _questions(self, mine: OwnedObject, name: str, other: object) -> Iterator[_Claim]:
        met = [each for each in self._met.get(type(mine), ()) if each is not mine and each is not other]
        if name == "__eq__":
            yield from ((mine, name, each) for each in met)
        elif name in STRICT:
            yield mine, name, mine
        elif isinstance(other, OwnedObject) and name in ORDERS:
            yield from ((each, name, mine) for each in (other, *met))
        else:
            yield from ((mine, name, each) for each in unlike(other))


def unlike(value: Any) -> tuple[object, ...]:
    """Values much like this one, which whoever holds or begins with this one need not hold or begin with."""
    if isinstance(value, str):
        changed = "".join(chr(ord(letter) ^ 1) for letter in value)
        return changed, changed[::-1] * 3, "\0"
    if isinstance(value, NUMBERS):
        return value + 1, value - 1, -value - 1, value + 10**9 + 7
    if isinstance(value, tuple) and value:
        return tuple(zip(*map(unlike, value), strict=False))
    return ODD


def _says_yes(question: _Claim) -> bool:
    mine, name, other = question
    operation = "method" if name in PREFIXES else "operate"
    try:
        answer = CHANNEL.request(operation, mine.__number__, name, (other,))
        return answer is not NotImplemented and bool(answer)
    except Lost:
        return True
    except (Exception, SystemExit):  # whatever it is, it is no yes
        return False


CLAIMS: Final = Claims()
