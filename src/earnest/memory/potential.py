"""What memory says about a pair of tags, and why asking costs the same at any size: exact running sums.

A Megram of magnitude f, renewed at t, weighs f·exp(-k·(now - t)) = f·g(t) / g(now), where g(t) = 2^(k·t/ln 2) is the
same for all of a decay class. So the class weighs (Σ f·g(t)) / g(now), and the sum, which does not depend on `now`, is
kept. It is an integer, in units of 2^-64, hence exact: what is added and later removed leaves nothing behind, order
does not matter, and no reference time ever has to move. Floats appear in one division at the end.
(Seed R5, dual-channel convolution potentials.)
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.foundation.errors import Broken
from earnest.foundation.instants import DAY_MS
from earnest.memory.megram import DECAYS_PER_DAY, INSTANT_MS_MAX, Megram

ATTENTION_MIN: Final = 0.5
DECISION_MIN: Final = 0.2
TOLERANCE: Final = 1e-9
"""A potential this near to a threshold is on it: five times 0.1 is 0.5."""

EXPIRY_ATTENTION: Final = 0.1
"""Below this, or below half of its own magnitude if that is less, a Megram is forgotten."""

_UNIT_BITS: Final = 64
_FRACTION_BITS: Final = 96
_FRACTION: Final = 1 << _FRACTION_BITS
_DOUBLINGS_PER_MS: Final = {k: int(math.ldexp(k / (DAY_MS * math.log(2)), _FRACTION_BITS)) for k in DECAYS_PER_DAY}
"""How often weights of a class double in a millisecond, in units of 2^-96."""


class Advice(StrEnum):
    """What the planner is told: no history, SHOULD PREFER, MUST NOT, or with care."""

    IGNORE = "ignore"
    EXPLOIT = "exploit"
    AVOID = "avoid"
    CAUTION = "caution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Potentials:
    """`attention` is unsigned (how much is known), `decision` signed (how it went)."""

    attention: float
    decision: float

    @property
    def action(self) -> Advice:
        """The seed's table: attention from 0.5 on counts; decision must pass ±0.2."""
        if self.attention < ATTENTION_MIN - TOLERANCE:
            return Advice.IGNORE
        if self.decision > DECISION_MIN + TOLERANCE:
            return Advice.EXPLOIT
        if self.decision < -DECISION_MIN - TOLERANCE:
            return Advice.AVOID
        return Advice.CAUTION


@dataclass(frozen=True, slots=True, kw_only=True)
class DecaySum:
    """Σ f·g(t) and Σ sigma·f·g(t) over `count` Megrams of one decay class, in units of 2^-64."""

    count: int = 0
    attention: int = 0
    decision: int = 0

    def plus(self, megram: Megram) -> "DecaySum":
        """With one more."""
        attention, decision = _weights(megram)
        return DecaySum(count=self.count + 1, attention=self.attention + attention, decision=self.decision + decision)

    def minus(self, megram: Megram) -> "DecaySum":
        """Without one that had been added. Raises `Broken` if there is none."""
        if self.count < 1:
            raise Broken(f"megram {megram.id[:80]!a} is missing from its sum")
        if self.count == 1:
            return DecaySum()  # whatever a different mathematical library may have rounded otherwise
        attention, decision = _weights(megram)
        return DecaySum(count=self.count - 1, attention=self.attention - attention, decision=self.decision - decision)

    def __add__(self, other: "DecaySum") -> "DecaySum":
        """Two sums of the same decay class."""
        return DecaySum(
            count=self.count + other.count,
            attention=self.attention + other.attention,
            decision=self.decision + other.decision,
        )

    def encode(self) -> bytes:
        """Hexadecimal, without the zeros that time puts at the end."""
        both = self.attention | self.decision
        shift = (both & -both).bit_length() - 1 if both else 0
        return b"%d %x %x %d" % (self.count, self.attention >> shift, self.decision >> shift, shift)

    @classmethod
    def decode(cls, data: bytes) -> "DecaySum":
        """What `encode` wrote. Raises `Broken` for anything else."""
        try:
            count, attention, decision, shift = data.split(b" ")
            shift_bits = int(shift)
            return cls(
                count=int(count), attention=int(attention, 16) << shift_bits, decision=int(decision, 16) << shift_bits
            )
        except ValueError as error:
            raise Broken(f"memory holds a sum that it did not write: {data[:80]!r}") from error


def potentials(sums: Mapping[float, DecaySum], early: Iterable[Megram], now_ms: int) -> Potentials:
    """The potentials of a pair from the sums of its decay classes.

    `early` are those Megrams among them that were renewed after `now_ms` (the clock was set back): they are new,
    not yet to come, and weigh f.
    """
    remaining = dict(sums)
    fresh: list[tuple[float, float]] = []
    for megram in early:
        remaining[megram.k] = remaining.get(megram.k, DecaySum()).minus(megram)
        fresh.append((megram.f, megram.sigma * megram.f))
    aged = [(_at(part.attention, k, now_ms), _at(part.decision, k, now_ms)) for k, part in remaining.items()]
    attention, decision = (math.fsum(channel) + 0.0 for channel in zip((0.0, 0.0), *aged, *fresh, strict=True))
    return Potentials(attention=attention, decision=decision)


def direct_potentials(megrams: Iterable[Megram], now_ms: int) -> Potentials:
    """The potentials of a few Megrams, summed one by one."""
    weights = [(live_attention(megram, now_ms), megram.sigma) for megram in megrams]
    decision = math.fsum(sigma * weight for weight, sigma in weights)
    return Potentials(attention=math.fsum(weight for weight, _ in weights), decision=decision + 0.0)


def live_attention(megram: Megram, now_ms: int) -> float:
    """|f|·exp(-k·age), the attention of one Megram."""
    return megram.f * math.exp(-megram.k * max(0, now_ms - megram.renewed_at_ms) / DAY_MS)


def expires_at_ms(megram: Megram) -> int | None:
    """The first instant at which its attention is below its limit; None for what does not decay.

    The limit is min(0.1, f/2): with 0.1 alone, a `refine` (f = 0.10) would be forgotten as soon as it is written.
    """
    if megram.k == 0:
        return None
    limit = min(EXPIRY_ATTENTION, megram.f / 2)
    return megram.renewed_at_ms + math.floor(math.log(megram.f / limit) / megram.k * DAY_MS) + 1


def _weights(megram: Megram) -> tuple[int, int]:
    """f·g(t) and sigma·f·g(t): what a Megram adds to its sums."""
    whole, growth = _growth(megram.k, megram.renewed_at_ms)
    attention = megram.f * growth
    return _fixed(attention) << whole, _fixed(megram.sigma * attention) << whole


def _at(total: int, k: float, now_ms: int) -> float:
    """A sum's value now: total / g(now). Division of integers is exact to half a unit of the result."""
    whole, growth = _growth(k, now_ms)
    return total / (1 << (_UNIT_BITS + whole)) / growth


def _growth(k: float, at_ms: int) -> tuple[int, float]:
    """g(t) as a whole power of two and a factor in [1, 2]."""
    doublings = _DOUBLINGS_PER_MS[k] * min(max(0, at_ms), INSTANT_MS_MAX)
    return doublings >> _FRACTION_BITS, math.exp2((doublings & (_FRACTION - 1)) / _FRACTION)


def _fixed(weight: float) -> int:
    return round(math.ldexp(weight, _UNIT_BITS))
