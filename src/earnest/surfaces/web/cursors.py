"""How does a list go on? A cursor is opaque: the last id that was shown."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Query

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused

LIMIT_MAX: Final = 100
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


def page(found: Sequence[JsonObject], limit: int, key: str) -> JsonObject:
    """`{data, next_cursor}` of what was found, one more than `limit` having been asked for."""
    shown = list(found[:limit])
    more = len(found) > limit
    return {"data": shown, "next_cursor": cursor_of(str(shown[-1][key])) if more else None}
