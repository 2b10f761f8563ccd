"""Probes, the readings that they give, and the question that each puts to a measuring process."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from earnest.foundation.canonical import JsonObject

Value = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was measured, and whether it is as the operator expects. `value` None: there is no such file or row."""

    value: Value
    as_expected: bool
    expectation: str
    """In words, as in `at least 1`."""


class Probes(Protocol):
    """The probes of one operator. Every method may be called from several tasks at once."""

    @property
    def names(self) -> Collection[str]:
        """All names that can be asked for."""

    async def measure(self, name: str) -> Reading:
        """Measure now.

        Raises `Unavailable` if the world cannot be asked: an outage, a time-out, an answer that makes no sense, a
        probe that is not set up. That is unknown, never zero.
        """


class Unknown(Exception):
    """Why it is unknown what would have been measured: never zero, and never a failure of anybody's work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeQuestion:
    """`config` is that of the probe, already checked; `secret` a password or token, or empty."""

    config: JsonObject
    secret: str
    now_ms: int
    wall_s: int

    def text(self, key: str, default: str = "") -> str:
        """A text of the config."""
        return str(self.config.get(key, default))
