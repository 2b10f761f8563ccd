"""Somebody in the town: where they came from, where they go, and so where they are at any moment."""

from dataclasses import dataclass, replace
from typing import Final

from earnest.world.places import HOME, Cell, distance, home_of

CELL_MS: Final = 1_000
"""How long a step takes. Nothing ticks: a position is computed when it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """`place`: what the destination is called; empty for a cell between places. `why`: what for, in its own words."""

    id: str
    from_x: int
    from_y: int
    to_x: int
    to_y: int
    place: str
    set_out_ms: int
    why: str = ""


def newcomer(account_id: str, now_ms: int) -> Resident:
    """Somebody at home."""
    x, y = home_of(account_id)
    return Resident(id=account_id, from_x=x, from_y=y, to_x=x, to_y=y, place=HOME, set_out_ms=now_ms)


def position(resident: Resident, now_ms: int) -> Cell:
    """Where they are: diagonal steps first, then straight ones."""
    steps = max(0, now_ms - resident.set_out_ms) // CELL_MS
    return Cell(_towards(resident.from_x, resident.to_x, steps), _towards(resident.from_y, resident.to_y, steps))


def has_arrived(resident: Resident, now_ms: int) -> bool:
    """They are where they wanted to go."""
    return position(resident, now_ms) == Cell(resident.to_x, resident.to_y)


def way_left(resident: Resident, now_ms: int) -> tuple[Cell, ...]:
    """The rest of the way: where they are, where diagonal steps end, where they go; one cell for who is there."""
    here, end = position(resident, now_ms), Cell(resident.to_x, resident.to_y)
    diagonal = min(abs(end.x - here.x), abs(end.y - here.y))
    corner = Cell(_towards(here.x, end.x, diagonal), _towards(here.y, end.y, diagonal))
    return tuple(dict.fromkeys((here, corner, end)))


def arrives_at_ms(resident: Resident) -> int:
    """When they are there."""
    way = distance(Cell(resident.from_x, resident.from_y), Cell(resident.to_x, resident.to_y))
    return resident.set_out_ms + way * CELL_MS


def headed(resident: Resident, to: Cell, place: str, why: str, now_ms: int) -> tuple[Resident, bool]:
    """On the way to another cell, from where they are; and whether that was before they had arrived (thrash)."""
    turned = not has_arrived(resident, now_ms)
    here = position(resident, now_ms)
    set_out = replace(
        resident, from_x=here.x, from_y=here.y, to_x=to.x, to_y=to.y, place=place, set_out_ms=now_ms, why=why
    )
    return set_out, turned


def is_bound_for(resident: Resident, to: Cell) -> bool:
    """They are there, or on their way: nothing to decide anew."""
    return Cell(resident.to_x, resident.to_y) == to


def _towards(start: int, end: int, steps: int) -> int:
    return end if abs(end - start) <= steps else start + (steps if end > start else -steps)
