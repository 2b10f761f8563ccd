"""How a list goes on. A cursor is opaque: the last id that was shown, with its instant in a list by time."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeVar

from fastapi import Query

from earnest.client.payloads import Page
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused

T = TypeVar("T")
MembersT = TypeVar("MembersT", bound=Members)
LIMIT_MAX: Final = 100
INSTANT_DIGITS_MAX: Final = 16
_MARK: Final = "c1:"

Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="How many at most.")]
Cursor = Annotated[str, Query(max_length=200, description="`next_cursor` of the answer before.")]


def after(cursor: str) -> str:
    """The last id that was shown; empty at the beginning. Raises `Refused("bad_cursor")`."""
    if not cursor:
        return ""
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    if not text.startswith(_MARK) or cursor_of(text.removeprefix(_MARK)) != cursor:
        raise Refused("bad_cursor", "the cursor is not one that a list has given")
    return text.removeprefix(_MARK)


def cursor_of(last: str) -> str:
    """The cursor that goes on after `last`."""
    return base64.urlsafe_b64encode(f"{_MARK}{last}".encode()).decode()


def page(found: Sequence[MembersT], limit: int, key: str) -> Page[MembersT]:
    """The page of what was found, one more than `limit` having been asked for."""
    shown = list(found[:limit])
    more = len(found) > limit
    return {"data": shown, "next_cursor": cursor_of(str(shown[-1][key])) if more else None}


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
    found: Sequence[T], limit: int, place: Callable[[T], tuple[int, str]], shown: Callable[[T], MembersT]
) -> Page[MembersT]:
    """The page of what was found by time, one more than `limit` having been asked for."""
    cursor = None
    if len(found) > limit:
        at_ms, last = place(found[limit - 1])
        cursor = cursor_of(f"{at_ms} {last}")
    return {"data": [shown(one) for one in found[:limit]], "next_cursor": cursor}
