"""How does a list by time go on? After the instant and the id of what was shown last."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.surfaces.web.cursors import after, cursor_of

T = TypeVar("T")
INSTANT_DIGITS_MAX = 16


def older_than(cursor: str) -> tuple[int, str] | None:
    """Instant and id that what comes next is older than; None at the beginning. Raises `Refused("bad_cursor")`."""
    text = after(cursor)
    if not text:
        return None
    at_ms, _, last = text.partition(" ")
    if not (at_ms.isascii() and at_ms.isdecimal() and len(at_ms) <= INSTANT_DIGITS_MAX):
        raise Refused("bad_cursor", "the cursor is not one that this list has given")
    return int(at_ms), last


def newest_first(
    found: Sequence[T], limit: int, place: Callable[[T], tuple[int, str]], shown: Callable[[T], JsonObject]
) -> JsonObject:
    """`{data, next_cursor}` of what was found, one more than `limit` having been asked for."""
    cursor = None
    if len(found) > limit:
        at_ms, last = place(found[limit - 1])
        cursor = cursor_of(f"{at_ms} {last}")
    return {"data": [shown(one) for one in found[:limit]], "next_cursor": cursor}
