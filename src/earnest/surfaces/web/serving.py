"""The listening server: how it starts and how it stops."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from earnest.app import places
from earnest.app.server import PlatformServer
from earnest.app.server_settings import ServerSettings
from earnest.app.settings import Settings
from earnest.effects.ground.systemd import READY, STOPPING, notify, reloading
from earnest.foundation.errors import Unavailable
from earnest.surfaces import garbage
from earnest.surfaces.dashboard.look import DataFolders
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.surfaces.web.sharing import shared
from earnest.surfaces.web.wire import BoundedHttp

BACKLOG = 2_048
LOOKED_AT_EACH_S = 2
"""How often connections are looked at whose requests may come too slowly."""


def listen(settings: ServerSettings) -> socket.socket:
    """A socket that listens. Raises `Unavailable`."""
    is_six = ":" in settings.host
    try:
        listener = socket.create_server(
            (settings.host, settings.port), family=socket.AF_INET6 if is_six else socket.AF_INET, backlog=BACKLOG
        )
    except OSError as error:
        why = str(error.strerror or error).partition(" (while ")[0]  # what follows tells the address again
        raise Unavailable(
            f"{settings.host}:{settings.port} cannot be listened on: {why}; --port N takes another, --port 0 any"
        ) from error
    # asyncio does it only for sockets whose protocol is named; a body would wait 40 ms for the receipt of its head
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def url_of(settings: ServerSettings, port: int) -> str:
    """By what address the platform is reached, without a slash at its end."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return settings.url or f"http://{host}:{port}"


def served_at(settings: Settings) -> str:
    """The address of the platform that is served from a data directory; where it would be, if none is."""
    try:
        return places.address(settings.home).read_text().strip()
    except OSError:
        return url_of(settings.server, settings.server.port)


async def serve(
    server: PlatformServer, listener: socket.socket, url: str, begun: Callable[[], None], can_reload: Callable[[], bool]
) -> bool:
    """Answer until SIGINT or SIGTERM comes, or SIGHUP while `can_reload`: then True, and whoever calls begins anew.

    `begun` is called when the first request can come. What connects in between waits at `listener`.
    """
    settings = server.settings.server
    ending = Ending()
    app = create_app(
        server.market,
        server.hashing,
        url=url,
        quotas=quotas_of(settings),
        readiness={**server.readiness(), "serving": ending.told},
        gauges=server.gauges(),
        presences=server.presences,
        place=DataFolders.of(server.settings),
        mailer=server.mailer,
        notary=server.notary,
        own=server.own,
    )
    ending.end_streams = app.state.streams.end
    config = uvicorn.Config(
        ending.around(app),
        log_config=None,
        log_level=logging.ERROR,  # below it stands what strangers sent, as for MCP
        access_log=False,  # a path may hold the secret of a link
        date_header=False,  # the door writes it
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        timeout_graceful_shutdown=settings.stop_s,
        http=BoundedHttp,
        ws="none",
    )
    logging.getLogger("mcp").setLevel(logging.ERROR)
    serving = _Serving(config, begun, ending, listener, settings.drain_s)
    gc.collect()
    garbage.work()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.stop)

    def reload() -> None:
        if can_reload() and not ending.begun:
            serving.is_to_reload = True
            notify(reloading(server.clock.ticks_ns()))
            serving.stop()

    def hang_up(*_: object) -> None:
        with contextlib.suppress(RuntimeError):  # between two loops: all is taken anew as it is
            loop.call_soon_threadsafe(reload)

    signal.signal(signal.SIGHUP, hang_up)  # asyncio's own would fall back to ending the process between two loops
    # Whoever is told twice to stop closes in order none the less; uvicorn closes what it is given to listen at.
    async with shared(app.state.limits, server.database):
        await serving.serve(sockets=[listener.dup()])
    return serving.is_to_reload


def quotas_of(settings: ServerSettings) -> Quotas:
    """The limits that the operator has set."""
    return Quotas(
        home=Quota(name="home", count=settings.home_per_minute, window_s=60),
        read=Quota(name="read", count=settings.reads_per_minute, window_s=60),
        write=Quota(name="write", count=settings.writes_per_minute, window_s=60),
        register=Quota(name="register", count=settings.registrations_per_hour, window_s=3_600),
        export=Quota(name="export", count=settings.exports_per_hour, window_s=3_600),
    )


class Ending:
    """Whether the server is being stopped: then `/readyz` says so, and each connection ends with its next answer.

    A proxy sends the next request to another server; whoever holds a connection here does not find it cut.
    """

    def __init__(self) -> None:
        self.begun = False
        self.end_streams: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Stop from now on."""
        self.begun = True
        self.end_streams()

    async def told(self) -> str:
        """What is wrong, for those who ask whether the server is ready."""
        return "it is being stopped" if self.begun else ""

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application, whose answers end their connections once this has begun."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def ending(message: Message) -> None:
                if self.begun and message["type"] == "http.response.start":
                    message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
                await send(message)

            await app(scope, receive, ending if scope["type"] == "http" else send)

        return answer


class _Serving(uvicorn.Server):
    """A server that is stopped by whoever runs it: what is open must be closed before the process ends."""

    def __init__(
        self, config: uvicorn.Config, begun: Callable[[], None], ending: Ending, listener: socket.socket, drain_s: int
    ) -> None:
        """`listener` is the socket that `serve` is given a copy of."""
        super().__init__(config)
        self._begun = begun
        self._ending = ending
        self._listener = listener
        self._drain_s = drain_s
        self.is_to_reload = False
        config.timeout_notify = LOOKED_AT_EACH_S
        config.callback_notify = self._hang_up_on_the_slow

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them to `serve`: uvicorn would raise them again when it has ended."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so."""
        await super().startup(sockets)
        if self.started:
            self._begun()
            notify(READY)

    async def _hang_up_on_the_slow(self) -> None:
        now_s = asyncio.get_running_loop().time()
        for connection in list(self.server_state.connections):
            if isinstance(connection, BoundedHttp):
                connection.hang_up_if_slow(now_s)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen no more, unless it is to begin anew: whoever connects is refused at once, and asks another server."""
        if not self.is_to_reload:
            self._listener.close()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Take no new request, after the time to drain; a second time: do not wait for those under way."""
        is_again = self._ending.begun
        self._ending.begin()
        if not self.is_to_reload:
            notify(STOPPING)
        self.force_exit = is_again
        if is_again or self.is_to_reload or not self._drain_s:
            self._exit()
        else:
            asyncio.get_running_loop().call_later(self._drain_s, self._exit)

    def _exit(self) -> None:
        self.should_exit = True
