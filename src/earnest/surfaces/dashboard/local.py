"""The same pages over a local data directory, read-only and without a platform, for whoever has their address."""

import hmac
import socket
from collections.abc import AsyncIterator, Callable
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from earnest.app.settings import Settings
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.foundation.errors import Refused
from earnest.surfaces.dashboard.files import send_file
from earnest.surfaces.dashboard.look import DataFolders, Look
from earnest.surfaces.dashboard.pages import EXPORTS, PAGES, Site
from earnest.surfaces.dashboard.rendering import HEADERS
from earnest.surfaces.web.sessions import is_loopback

COOKIE: Final = "earnest_local"
LOOK_MS: Final = 500
STOP_S: Final = 1


def local_app(books: ReadPool, settings: Settings, clock: Clock, secret: str) -> ASGIApp:
    """The application. Nothing in it writes; `secret` stands in the address that opens it."""
    place = DataFolders.of(settings)

    def look(request: Request, reader: BooksReader) -> Look:
        path = request.url.path
        return Look(
            reader=reader,
            now_ms=clock.now_ms(),
            terms=settings.market,
            caller=None,
            place=place,
            is_local=True,
            path=f"{path}?{request.url.query}" if request.url.query else path,
            params=request.path_params,
            query=request.query_params,
        )

    site = Site(look=look, read=lambda _: books.read)

    async def live(_: Request) -> Response:
        return StreamingResponse(
            _changes(books, clock), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    routes = [
        *(Route(path, site.page(show)) for path, show in PAGES.items()),
        *(Route(path, site.export(show)) for path, show in EXPORTS.items()),
        Route("/assets/{digest}/{name}", send_file),
        Route("/live", live),
    ]
    app = Starlette(routes=routes, exception_handlers={Refused: _told, HTTPException: _told})
    return _Guarded(app, secret)


def serve_local(app: ASGIApp, listener: socket.socket, begun: Callable[[], None]) -> None:
    """Answer until SIGINT or SIGTERM comes."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=STOP_S
    )
    begun()
    uvicorn.Server(config).run(sockets=[listener])


class _Guarded:
    """Lets in who came by the one-time address, on this machine: other users of it have no cookie, and a page of
    another site that points a name of its own here has another `Host`.
    """

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app = app
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers)
        await (self._app if answer is None else answer)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if not is_loopback(_host(headers)):
            return PlainTextResponse("this is a page of one machine", 403, HEADERS)
        name = f"{COOKIE}_{_port(headers)}"  # cookies are those of a host: another dashboard has another port
        if self._knows(cookie_parser(headers.get("cookie", "")).get(name, "")):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if not self._knows(query.pop("secret", [""])[0]):
            return PlainTextResponse("open it by the address that `earnest dashboard` printed", 403, HEADERS)
        rest = urlencode(query, doseq=True)
        response = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303, HEADERS)
        response.set_cookie(name, self._secret, httponly=True, samesite="strict")
        return response

    def _knows(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._secret.encode())


def _host(headers: Headers) -> str:
    """The name that the request was led here by; empty for one that is none."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _port(headers: Headers) -> int:
    try:
        return urlsplit(f"//{headers.get('host', '')}").port or 80
    except ValueError:
        return 80


async def _changes(books: ReadPool, clock: Clock) -> AsyncIterator[bytes]:
    last = _newest(books)
    yield b"retry: 1000\n\n"
    while True:
        await clock.sleep_ms(LOOK_MS)
        newest = _newest(books)
        if newest != last:
            last = newest
            yield b"event: changed\ndata: \n\n"


def _newest(books: ReadPool) -> int:
    return books.read_sync(lambda reader: next((fact.seq for fact in reader.facts(newest_first=True, limit=1)), 0))


async def _told(_: Request, error: Exception) -> Response:
    text, status = (error.detail, error.status_code) if isinstance(error, HTTPException) else (str(error), 404)
    return PlainTextResponse(text, status, HEADERS)
