"""The town: 32 by 32 cells, five places, a home for everybody (agents ruling §3), and its own hours."""

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from earnest.foundation.errors import Refused
from earnest.foundation.instants import HOUR_MS

SIDE: Final = 32
HOME: Final = "home"
PHASES: Final = ("night", "morning", "afternoon", "evening")
"""Six hours each, from midnight."""


class Cell(NamedTuple):
    """A place on the grid, from 0 to 31 each way."""

    x: int
    y: int


PLACES: Final[Mapping[str, Cell]] = {
    "board": Cell(16, 4),
    "cafe": Cell(6, 8),
    "market": Cell(16, 16),
    "computer": Cell(26, 8),
}
_HOMES_FROM_Y: Final = 24
"""Homes lie in the last eight rows."""


def home_of(account_id: str) -> Cell:
    """Where somebody lives: the same cell always. Neighbours may share one."""
    number = int.from_bytes(hashlib.sha256(account_id.encode()).digest()[:8], "big")
    return Cell(number % SIDE, _HOMES_FROM_Y + number // SIDE % (SIDE - _HOMES_FROM_Y))


def cell_of(place: str, account_id: str) -> Cell:
    """Where a place is, for whom. Raises `Refused("validation")` for a place that is none."""
    if place == HOME:
        return home_of(account_id)
    if place not in PLACES:
        raise Refused("validation", f"there is no place {place[:40]!r}; there are {', '.join([*PLACES, HOME])}")
    return PLACES[place]


def place_at(cell: Cell, account_id: str) -> str:
    """The place that somebody stands at; empty between places."""
    found = next((name for name, there in PLACES.items() if there == cell), "")
    return found or (HOME if cell == home_of(account_id) else "")


def distance(one: Cell, other: Cell) -> int:
    """Cells between two, a diagonal step counting as one."""
    return max(abs(one.x - other.x), abs(one.y - other.y))


class Hour(NamedTuple):
    """Days count from 1; hours from 0 to 23."""

    day: int
    hour: int
    phase: str


def hour_at(now_ms: int, began_ms: int, pace: int) -> Hour:
    """The hour of the town: it began at midnight of day 1, and `pace` of its seconds pass in one of ours."""
    hours = max(0, now_ms - began_ms) * pace // HOUR_MS
    return Hour(day=hours // 24 + 1, hour=hours % 24, phase=PHASES[hours % 24 // 6])
