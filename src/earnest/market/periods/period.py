"""A period: a named span of facts, which an operator begins. It archives by reference and wipes nothing.

The "run" of the seed (behavior-and-purpose, "Track per run"; agents ruling §5).
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from earnest.client.payloads_platform import Period as Shown
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s

CURRENT: Final = "current"
"""In the place of an id or name: the period that goes on."""
FIRST: Final = "first"
NAME: Final = r"[a-z0-9][a-z0-9-]{0,63}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """All that happened from fact `first_fact` to fact `last_fact`, both within; None: it goes on."""

    id: str
    name: str
    first_fact: int
    opened_at_ms: int
    last_fact: int | None = None
    ended_at_ms: int | None = None


def check_name(name: str) -> None:
    """Raises `Refused("validation")` for what cannot name a period; ids, `per_…`, have an underscore."""
    if not re.fullmatch(NAME, name, re.ASCII) or name == CURRENT:
        message = f"a period is named by 1 to 64 of a-z, 0-9 and -, and not {CURRENT!r}: {name[:80]!r}"
        raise Refused("validation", message, errors=[{"pointer": "#/name", "code": "validation", "detail": message}])


def ended(period: Period, last_fact: int, now_ms: int) -> Period:
    """The period as another takes its place."""
    return replace(period, last_fact=last_fact, ended_at_ms=now_ms)


def period_json(period: Period) -> Shown:
    """A period as the API shows it."""
    return {
        "period_id": period.id,
        "name": period.name,
        "opened_at": rfc3339_s(period.opened_at_ms),
        "ended_at": rfc3339_s(period.ended_at_ms),
        "first_fact": period.first_fact,
        "last_fact": period.last_fact,
    }
