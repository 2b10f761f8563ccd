"""The dashboard of a served platform: its pages, the live stream and the login, over the calls of the API."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.outside.mail.api import Mailer
from earnest.runtime.market.posting import prepare_posting
from earnest.surfaces.dashboard.files import send_file
from earnest.surfaces.dashboard.logins import Logins, log_out
from earnest.surfaces.dashboard.look import DataFolders, Look
from earnest.surfaces.dashboard.pages import EXPORTS, PAGES, Site
from earnest.surfaces.web.calls import Call, MyCall, called, rendered
from earnest.surfaces.web.jobs import PostJob
from earnest.surfaces.web.limits import RateLimits
from earnest.views.world import live_events

LOOK_MS: Final = 500
"""How often a stream looks whether something has changed."""
QUIET_MS: Final = 1_000
"""The least time between two messages of a stream: pages are read anew for each."""
STREAM_LOOKS_MAX: Final = 120
"""A stream ends after so many looks, and the browser opens another: whoever may no longer look does not look on."""
_WIRE: Final = SystemClock()
"""What paces a stream: the world's clock, whatever time the platform is at."""


def dashboard_router(
    place: DataFolders | None, mailer: Mailer | None, limits: RateLimits, is_stopping: Callable[[], bool]
) -> APIRouter:
    """The routes, all outside the API. `mailer` takes owners' links to them; `is_stopping`: streams are to end."""
    router = APIRouter(include_in_schema=False)
    site = Site(
        look=lambda request, reader: _look(request, reader, place),
        read=lambda request: called(request.scope).market.desk.database.read,
    )
    for path, show in PAGES.items():
        router.add_api_route(path, site.page(show), methods=["GET"], response_model=None)
    for path, export in EXPORTS.items():
        router.add_api_route(path, site.export(export), methods=["GET"], response_model=None)
    router.add_api_route("/assets/{digest}/{name}", send_file, methods=["GET"], response_model=None)
    router.add_api_route("/live", _live(is_stopping), methods=["GET"], response_model=None)
    router.add_api_route("/jobs/lint", lint, methods=["POST"], response_model=None)
    logins = Logins(site, mailer, limits)
    router.add_api_route("/owner", logins.show_owner_form, methods=["GET"], response_model=None)
    router.add_api_route("/owner", logins.send_links, methods=["POST"], response_model=None)
    router.add_api_route("/owner/{link}", logins.show_link, methods=["GET"], response_model=None)
    router.add_api_route("/owner/{link}", logins.use_link, methods=["POST"], response_model=None)
    router.add_api_route("/login", logins.show_form, methods=["GET"], response_model=None)
    router.add_api_route("/login", logins.log_in, methods=["POST"], response_model=None)
    router.add_api_route("/logout", log_out, methods=["POST"], response_model=None)
    return router


async def lint(job: PostJob, call: MyCall) -> Response:
    """Say what is wrong with a job that is not posted yet; nothing is kept. Raises as posting it does."""
    await prepare_posting(call.market, call.me, job.value())
    return rendered({"ok": True})


def _look(request: Request, reader: BooksReader, place: DataFolders | None) -> Look:
    call = called(request.scope)
    return Look(
        reader=reader,
        now_ms=call.market.desk.now_ms(),
        terms=call.market.terms,
        caller=call.caller,
        place=place,
        artifacts=call.market.artifacts,
        has_login=bool(call.session),
        path=f"{call.path}?{call.query}" if call.query else call.path,
        params=request.path_params,
        query=request.query_params,
    )


def _live(is_stopping: Callable[[], bool]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        """Server-sent events: `changed` when a page of whoever asks may show something else. It says nothing more."""
        call = called(request.scope)
        _ = call.me
        return StreamingResponse(
            _changes(request, call, is_stopping),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return endpoint


async def _changes(request: Request, call: Call, is_stopping: Callable[[], bool]) -> AsyncIterator[bytes]:
    last, in_town = await _state(call), _Town(call) if request.query_params.get("town") else None
    yield b"retry: 1000\n\n"
    for _ in range(STREAM_LOOKS_MAX):
        if is_stopping() or await request.is_disconnected():
            return
        await _WIRE.sleep_ms(LOOK_MS)
        state = await _state(call)
        if state != last or (in_town is not None and await in_town.has_news()):
            last = state
            yield b"event: changed\ndata: \n\n"
            await _WIRE.sleep_ms(QUIET_MS - LOOK_MS)


@dataclass(slots=True)
class _Town:
    """What a caller may know of the town, which is no news about the caller itself."""

    call: Call
    seq: int = field(init=False)

    def __post_init__(self) -> None:
        self.seq = self.call.market.desk.database.last_seq

    async def has_news(self) -> bool:
        """True if somebody moved, posted, or said something that the caller hears, since this was last asked."""
        read = partial(live_events, after_seq=self.seq, viewer=self.call.me.id, hears_all=self.call.me.sees_all)
        found, self.seq = await self.call.market.desk.database.ask(read)
        return bool(found)


async def _state(call: Call) -> int:
    """A number that is another when something has changed for this caller; of others it says nothing to an agent."""
    database = call.market.desk.database
    if call.me.account.kind.value != "agent":
        return database.last_seq
    return await database.ask(lambda reader: reader.touched(call.me.id))
