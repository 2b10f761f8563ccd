"""The town as server-sent events, for live views: each move, remark and post as it happens."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from earnest.effects.ground.storage.news import within
from earnest.foundation.errors import Refused
from earnest.surfaces.web.calls import Call, MyCall
from earnest.surfaces.web.world import hears_all
from earnest.views.world import LIVE, LiveEvent, live_events

LOOK_MS: Final = 1_000
SPAN_MAX_S: Final = 300
"""A stream ends after so long; a browser's EventSource comes back by itself, and goes on where it was."""
ALIVE_EACH: Final = 15
"""After so many looks without news a comment keeps proxies from hanging up."""
STREAMS_MAX: Final = 64
STREAMS_OF_ONE_MAX: Final = 4
_LAST_DIGITS: Final = 16

router = APIRouter(tags=["world"], include_in_schema=False)


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


@router.get("/world/events")
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
    desk, sees_all = call.market.desk, hears_all(call)
    given = call.headers.get("last-event-id", "")
    is_number = given.isascii() and given.isdigit() and len(given) < _LAST_DIGITS
    seq = int(given) if is_number else desk.database.last_seq
    ends_ms, quiet = desk.clock.now_ms() + span_s * 1_000, 0
    yield f"retry: {LOOK_MS * 2}\n\n"
    with desk.database.news.heard(*LIVE) as news:
        while desk.clock.now_ms() < ends_ms and not streams.is_ending:
            news.clear()
            last = seq
            read = partial(live_events, after_seq=last, viewer=call.me.id, hears_all=sees_all)
            found, seq = await desk.database.ask(read)
            for event in found:
                yield _written(event)
            quiet = 0 if found else quiet + 1
            if quiet and quiet % ALIVE_EACH == 0:
                yield ": alive\n\n"
            if seq == last:
                await within(news, desk.clock, LOOK_MS)


def _written(event: LiveEvent) -> str:
    """One event (WHATWG HTML, server-sent events). JSON holds no line break."""
    return f"id: {event.seq}\nevent: {event.name}\ndata: {json.dumps(event.data, ensure_ascii=False)}\n\n"
