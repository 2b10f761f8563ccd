"""What requests of several resources have in common: a strict form, its words, and how a list goes on."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Final, TypeVar

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, StringConstraints

from earnest.client.payloads import Page
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused
from earnest.surfaces.web.calls import Call

MembersT = TypeVar("MembersT", bound=Members)
LIMIT_MAX: Final = 100
INSTANT_DIGITS_MAX: Final = 16
_MARK: Final = "c1:"

Sha256 = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Instant = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="How many at most.")]
Cursor = Annotated[str, Query(max_length=200, description="`next_cursor` of the answer before.")]


class Strict(BaseModel):
    """Unknown members are refused; nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


def instant_ms(text: str | None, name: str) -> int | None:
    """Milliseconds since the epoch. Raises `Refused("validation")` for a day that is none."""
    if text is None:
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000
    except (ValueError, OverflowError):
        raise Refused("validation", f"{name} is no instant: {text}") from None


def after(cursor: str) -> str:
    """The last id that was shown: a cursor holds it. Empty at the beginning. Raises `Refused("bad_cursor")`."""
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


async def listed(
    call: Call, cursor: str, limit: int, key: str, find: Callable[[BooksReader, str, int], Sequence[Members]]
) -> Response:
    """Answer with a page of what `find` reads, given the last id that was shown and how many there may be.

    `key` names the member that holds the id. Raises `Refused("bad_cursor")`.
    """
    last = after(cursor)
    return await call.read(lambda reader: page(find(reader, last, limit + 1), limit, key))


def page(found: Sequence[MembersT], limit: int, key: str) -> Page[MembersT]:
    """The page of what was found, one more than `limit` having been asked for."""
    shown = list(found[:limit])
    more = len(found) > limit
    return {"data": shown, "next_cursor": cursor_of(str(shown[-1][key])) if more else None}


async def listed_by_time(
    call: Call,
    cursor: str,
    limit: int,
    find: Callable[[BooksReader, tuple[int, str] | None, int], Sequence[tuple[int, str, Members]]],
) -> Response:
    """The same where `find` reads by time: what is older than an instant and an id, each with these two.

    It is given None at the beginning.
    """
    text = after(cursor)
    at_ms, _, last_id = text.partition(" ")
    if text and not (at_ms.isascii() and at_ms.isdecimal() and len(at_ms) <= INSTANT_DIGITS_MAX):
        raise Refused("bad_cursor", "the cursor is not one that this list has given")
    before = (int(at_ms), last_id) if text else None

    def newest_first(reader: BooksReader) -> Page[Members]:
        found = find(reader, before, limit + 1)
        following = None
        if len(found) > limit:
            shown_ms, shown_id, _ = found[limit - 1]
            following = cursor_of(f"{shown_ms} {shown_id}")
        return {"data": [one for _, _, one in found[:limit]], "next_cursor": following}

    return await call.read(newest_first)
