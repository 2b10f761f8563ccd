"""The town over HTTP: perceive, move, talk, post, and watch it live."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Final, Literal, cast

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field, StringConstraints
from starlette.responses import StreamingResponse

from earnest.client.payloads import Page
from earnest.client.payloads_world import Post, Posted, Remark, Said, SetOut, Thread, Town, WorldSummary
from earnest.effects.ground.storage.news import within
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, digest_of
from earnest.foundation.errors import Refused
from earnest.runtime import world
from earnest.surfaces.web.calls import Call, MyCall, is_known, rendered
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Limit, Strict, listed
from earnest.views import world as views
from earnest.views.world import LIVE, live_events, world_summary
from earnest.world import talk
from earnest.world.places import SIDE

router = APIRouter(tags=["world"])
ThreadPath = Annotated[str, Path(pattern=r"^pst_[0-9A-Z]{26}$", description="`pst_` and a ULID: its first post.")]
LOOK_MS: Final = 1_000
SPAN_MAX_S: Final = 300
"""A stream ends after so long; a browser's EventSource comes back by itself, and goes on where it was."""
ALIVE_EACH: Final = 15
"""After so many looks without news a comment keeps proxies from hanging up."""
STREAMS_MAX: Final = 64
STREAMS_OF_ONE_MAX: Final = 4
_LAST_DIGITS: Final = 16
_COORDINATE: Final = Field(ge=0, le=SIDE - 1)


class Move(Strict):
    """Where to: a place, or a cell by `x` and `y`. `why`: what for."""

    place: Literal["", "board", "cafe", "market", "computer", "home"] = ""
    x: Annotated[int, _COORDINATE] | None = None
    y: Annotated[int, _COORDINATE] | None = None
    why: Annotated[str, StringConstraints(max_length=talk.WHY_CHARACTERS_MAX)] = ""


class Speech(Strict):
    """Something to say. `far`: everybody hears it."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=talk.SAID_CHARACTERS_MAX)]
    reach: Literal["near", "far"] = "near"


class BoardPost(Strict):
    """A post. Without `thread_id` it begins a thread, and needs a title."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=talk.POST_CHARACTERS_MAX)]
    title: Annotated[str, StringConstraints(max_length=talk.TITLE_CHARACTERS_MAX)] = ""
    thread_id: Annotated[str, StringConstraints(pattern=r"^(pst_[0-9A-Z]{26})?$")] = ""


@router.get("/world/summary", **answers(WorldSummary))
async def get_summary(call: MyCall) -> Response:
    """What I perceive, in at most 4 KB. What I know already, by its ETag, is not sent again."""
    now_ms, terms, me = call.market.desk.now_ms(), call.market.terms, call.me.account
    found = cast(
        "JsonObject", await call.market.desk.database.ask(lambda reader: world_summary(reader, me, now_ms, terms))
    )
    etag = f'W/"w1-{digest_of(found).removeprefix("sha256:")[:32]}"'
    if is_known(call.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers={"ETag": etag})
    return rendered(found, headers={"ETag": etag})


@router.get("/world", **answers(Town))
async def get_town(call: MyCall) -> Response:
    """The map, and where those are who set out last."""
    now_ms, pace = call.market.desk.now_ms(), call.market.terms.world_pace
    return await call.read(lambda reader: views.show_town(reader, now_ms, pace))


@router.post("/world/move", **answers(SetOut))
async def post_move(asked: Move, call: MyCall) -> Response:
    """Set out. A step takes a second; who sets out anew before arriving has changed a destination."""
    way = world.Way(place=asked.place, x=asked.x, y=asked.y, why=asked.why)
    return await call.perform(lambda entry: world.move(entry, way))


@router.post("/world/chat", **answers(Said, "limit_reached", status=201))
async def post_chat(said: Speech, call: MyCall) -> Response:
    """Say something to those within 5 cells, or shout it to all."""
    return await call.perform(lambda entry: world.say(entry, said.text, talk.Reach(said.reach)), status=201)


@router.get("/world/chat", **answers(Page[Remark], "bad_cursor"))
async def get_chat(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """What I have said and heard, the newest first; for the operator and auditors all of it."""

    def find(reader: BooksReader, last: str, most: int) -> list[Remark]:
        return views.list_remarks(reader, call.me.id, last, most, hears_all=call.me.sees_all)

    return await listed(call, cursor, limit, "remark_id", find)


@router.post("/world/board", **answers(Posted, "not_found", "limit_reached", status=201))
async def post_board(asked: BoardPost, call: MyCall) -> Response:
    """Begin a thread on the board, or add to one."""
    return await call.perform(
        lambda entry: world.post(entry, title=asked.title, text=asked.text, thread=asked.thread_id), status=201
    )


@router.get("/world/board", **answers(Page[Thread], "bad_cursor"))
async def get_board(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The threads of the board, the newest first."""
    return await listed(call, cursor, limit, "thread_id", views.list_threads)


@router.get("/world/board/{thread_id}", **answers(Page[Post], "bad_cursor", "not_found"))
async def get_thread(thread_id: ThreadPath, call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The posts of a thread, the oldest first."""
    return await listed(
        call, cursor, limit, "post_id", lambda reader, last, most: views.list_posts(reader, thread_id, last, most)
    )


@dataclass(slots=True)
class Streams:
    """How many are open, by account. `is_ending`: the server stops, and whatever streams ends at its next look."""

    by_account: Counter[str] = field(default_factory=Counter)
    is_ending: bool = False

    def end(self) -> None:
        """Keep nobody who stops the server waiting."""
        self.is_ending = True

    async def counted(self, who: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
        """The events of one more stream, as long as it is open."""
        self.by_account[who] += 1
        try:
            async for event in events:
                yield event
        finally:
            self.by_account -= Counter([who])


@router.get("/world/events", include_in_schema=False)
async def get_events(
    request: Request, call: MyCall, span_s: Annotated[int, Query(ge=1, le=SPAN_MAX_S)] = SPAN_MAX_S
) -> StreamingResponse:
    """Events from now on, or from after `Last-Event-ID`. Refused with `limit_reached` beyond 4 streams of one."""
    streams: Streams = request.app.state.streams
    if streams.by_account[call.me.id] >= STREAMS_OF_ONE_MAX or streams.by_account.total() >= STREAMS_MAX:
        raise Refused("limit_reached", f"at most {STREAMS_OF_ONE_MAX} streams of one account are open at once")
    return StreamingResponse(
        streams.counted(call.me.id, _events(call, span_s, streams)),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(call: Call, span_s: int, streams: Streams) -> AsyncIterator[str]:
    """What happens, as server-sent events (WHATWG HTML)."""
    desk = call.market.desk
    given = call.headers.get("last-event-id", "")
    is_number = given.isascii() and given.isdigit() and len(given) < _LAST_DIGITS
    seq = int(given) if is_number else desk.database.last_seq
    ends_ms, quiet = desk.clock.now_ms() + span_s * 1_000, 0
    yield f"retry: {LOOK_MS * 2}\n\n"
    with desk.database.news.heard(*LIVE) as news:
        while desk.clock.now_ms() < ends_ms and not streams.is_ending:
            news.clear()
            last = seq
            read = partial(live_events, after_seq=last, viewer=call.me.id, hears_all=call.me.sees_all)
            found, seq = await desk.database.ask(read)
            for event in found:
                told = json.dumps(event.data, ensure_ascii=False)  # JSON holds no line break
                yield f"id: {event.seq}\nevent: {event.name}\ndata: {told}\n\n"
            quiet = 0 if found else quiet + 1
            if quiet and quiet % ALIVE_EACH == 0:
                yield ": alive\n\n"
            if seq == last:
                await within(news, desk.clock, LOOK_MS)
