"""The town as it is seen: the map, what was heard, what stands on the board, and what happens, as it happens."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

from earnest.client.payloads_world import Post as PostShown
from earnest.client.payloads_world import Remark as RemarkShown
from earnest.client.payloads_world import ResidentShown, Thread, Town, TownTime
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.world.places import PLACES, SIDE, Cell, hour_at
from earnest.world.resident import Resident, has_arrived, position, way_left
from earnest.world.rows import POSTS, REMARKS, RESIDENTS
from earnest.world.talk import Post, Reach, Remark

RESIDENTS_SHOWN_MAX: Final = 200
REMARKS_READ_MAX: Final = 1_000
"""So far back somebody hears: what was said before so many remarks of all is gone from their list."""
EVENTS_AT_ONCE: Final = 100
LIVE: Final = ("resident.opened", "resident.changed", "remark.opened", "post.opened")
_NEWEST: Final = "~"


class LiveEvent(NamedTuple):
    """One thing that happened, for a live view. `seq`: the fact's number, by which a view goes on."""

    seq: int
    name: str
    data: dict[str, Any]


class Walker(NamedTuple):
    """Somebody on the map. `way`: as `way_left` gives it; `place`: what their destination is called."""

    handle: str
    way: tuple[Cell, ...]
    place: str


def town_time(reader: BooksReader, now_ms: int, pace: int) -> TownTime:
    """The hour of the town, whose first day began with the platform."""
    first = reader.execute("SELECT at_ms FROM facts WHERE seq = 1").fetchone()
    hour = hour_at(now_ms, now_ms if first is None else int(first[0]), pace)
    return {"day": hour.day, "hour": hour.hour, "phase": hour.phase}


def show_town(reader: BooksReader, now_ms: int, pace: int) -> Town:
    """The map, and where those are who set out last."""
    found = RESIDENTS.where(reader, "set_out_ms >= 0 ORDER BY set_out_ms DESC, id LIMIT ?", (RESIDENTS_SHOWN_MAX,))
    return {
        "time": town_time(reader, now_ms, pace),
        "side": SIDE,
        "places": [{"name": name, "x": cell.x, "y": cell.y} for name, cell in PLACES.items()],
        "residents": [_resident(reader, one, now_ms) for one in found],
    }


def walkers(reader: BooksReader, now_ms: int, limit: int = RESIDENTS_SHOWN_MAX) -> list[Walker]:
    """Who set out last, with the way that is left to them."""
    found = RESIDENTS.where(reader, "set_out_ms >= 0 ORDER BY set_out_ms DESC, id LIMIT ?", (limit,))
    return [Walker(handle_of(reader, one.id), way_left(one, now_ms), one.place) for one in found]


def list_remarks(reader: BooksReader, viewer: str, before: str, limit: int, *, hears_all: bool) -> list[RemarkShown]:
    """What `viewer` has said and heard, the newest first. `hears_all`: for the operator and auditors."""
    newest = "id < ? AND id >= coalesce((SELECT id FROM remarks ORDER BY id DESC LIMIT 1 OFFSET ?), '')"
    found = REMARKS.where(reader, f"{newest} ORDER BY id DESC", (before or _NEWEST, REMARKS_READ_MAX))
    shown: list[RemarkShown] = []
    for one in found:
        if hears_all or _is_heard(one, viewer):
            shown.append(_remark(reader, one))
        if len(shown) == limit:
            break
    return shown


def list_threads(reader: BooksReader, before: str, limit: int) -> list[Thread]:
    """The newest first, each by the post that began it."""
    first = POSTS.where(reader, "id = thread AND id < ? ORDER BY id DESC LIMIT ?", (before or _NEWEST, limit))
    return [_thread(reader, one) for one in first]


def list_posts(reader: BooksReader, thread: str, after: str, limit: int) -> list[PostShown]:
    """The posts of a thread, the oldest first. Raises `Refused("not_found")`."""
    if POSTS.get(reader, thread) is None:
        raise Refused("not_found", f"there is no thread {thread[:80]!r}")
    found = POSTS.where(reader, "thread = ? AND id > ? ORDER BY id LIMIT ?", (thread, after, limit))
    return [_post(reader, one) for one in found]


def live_events(reader: BooksReader, after_seq: int, viewer: str, *, hears_all: bool) -> tuple[list[LiveEvent], int]:
    """What happened after a fact, as `viewer` may know it, and the last fact that was looked at."""
    last_seq, found = after_seq, []
    for fact in reader.facts(kind=LIVE, after_seq=after_seq, limit=EVENTS_AT_ONCE):
        last_seq = fact.seq
        body = cast("dict[str, Any]", fact.body)
        if fact.kind == "remark.opened" and not (hears_all or _is_heard(Remark(**body["row"]), viewer)):
            continue
        found += [LiveEvent(fact.seq, name, data) for name, data in _live(reader, fact.kind, fact.subject, body)]
    return found, last_seq


def _live(reader: BooksReader, kind: str, subject: str, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    match kind:
        case "remark.opened":
            yield "remark", cast("dict[str, Any]", _remark(reader, Remark(**body["row"])))
        case "post.opened":
            yield "post", cast("dict[str, Any]", _post(reader, Post(**body["row"])))
        case _:
            moved = RESIDENTS.get(reader, subject)
            if moved is not None:
                to = {"x": moved.to_x, "y": moved.to_y}
                start = {"x": moved.from_x, "y": moved.from_y}
                set_out = rfc3339_s(moved.set_out_ms)
                handle = handle_of(reader, subject)
                yield "move", {"handle": handle, "from": start, "to": to, "place": moved.place, "set_out_at": set_out}


def handle_of(reader: BooksReader, account_id: str) -> str:
    """What somebody is called."""
    (handle,) = reader.execute("SELECT handle FROM accounts WHERE id = ?", (account_id,)).fetchone()
    return str(handle)


def _is_heard(remark: Remark, viewer: str) -> bool:
    is_near = remark.account_id == viewer or viewer in json.loads(remark.heard_by)
    return remark.reach == Reach.FAR or is_near


def _resident(reader: BooksReader, one: Resident, now_ms: int) -> ResidentShown:
    here = position(one, now_ms)
    arrived = has_arrived(one, now_ms)
    return {"handle": handle_of(reader, one.id), "x": here.x, "y": here.y, "place": one.place, "arrived": arrived}


def _remark(reader: BooksReader, one: Remark) -> RemarkShown:
    return {
        "remark_id": one.id,
        "handle": handle_of(reader, one.account_id),
        "reach": one.reach,
        "text": one.text,
        "at": rfc3339_s(one.at_ms),
    }


def _post(reader: BooksReader, one: Post) -> PostShown:
    return {
        "post_id": one.id,
        "thread_id": one.thread,
        "handle": handle_of(reader, one.account_id),
        "title": one.title,
        "text": one.text,
        "at": rfc3339_s(one.at_ms),
    }


def _thread(reader: BooksReader, one: Post) -> Thread:
    count = "SELECT count(*), max(at_ms) FROM posts WHERE thread = ?"
    posts, last_ms = reader.execute(count, (one.id,)).fetchone()
    return {**_post(reader, one), "posts": posts, "last_at": rfc3339_s(last_ms)}
