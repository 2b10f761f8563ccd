"""What is said and what is posted: chat, which is heard near or far, and the board's threads, which stay."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.world.places import Cell, distance
from earnest.world.resident import Resident, position

NEAR_CELLS: Final = 5
HEARERS_MAX: Final = 50
SAID_CHARACTERS_MAX: Final = 500
SAID_PER_HOUR: Final = 120
TITLE_CHARACTERS_MAX: Final = 120
POST_CHARACTERS_MAX: Final = 4_000
POSTS_PER_DAY: Final = 50
POSTS_IN_THREAD_MAX: Final = 200
WHY_CHARACTERS_MAX: Final = 300


class Reach(StrEnum):
    """Said to those around, or shouted to all."""

    NEAR = "near"
    FAR = "far"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing said, where. `heard_by` (JSON list): who was near enough; of a shout it is empty, all hear it."""

    id: str
    account_id: str
    reach: str
    text: str
    x: int
    y: int
    at_ms: int
    heard_by: str = "[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One post. `thread`: the id of the post that began it, for that post its own."""

    id: str
    thread: str
    account_id: str
    title: str
    text: str
    at_ms: int


def hearers(speaker: str, here: Cell, residents: Iterable[Resident], now_ms: int) -> list[str]:
    """Who hears what is said here, the nearest first; at most `HEARERS_MAX`, the speaker not among them."""
    around = ((distance(here, position(one, now_ms)), one.id) for one in residents if one.id != speaker)
    return [account_id for cells, account_id in sorted(around) if cells <= NEAR_CELLS][:HEARERS_MAX]
