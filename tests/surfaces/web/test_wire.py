"""Does a connection end whose request is too long, or comes too slowly?"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import uvicorn

from earnest.app.server_settings import ServerSettings
from earnest.surfaces.web.serving import Ending, _Serving, listen
from earnest.surfaces.web.wire import BYTES_S_MIN, HEAD_BYTES_MAX, PATIENCE_S, BoundedHttp

HEAD = b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, then says how long it was."""
    length, more = 0, True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        length += len(message.get("body", b""))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]})
    await send({"type": "http.response.body", "body": b"%8d" % length})


async def until(holds: Callable[[], bool]) -> None:
    """Let others work until it does."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0)


class Line:
    """A connection to the server, and its other end."""

    def __init__(self, server: uvicorn.Server, port: int) -> None:
        self.server, self.port = server, port

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, data: bytes) -> None:
        """The beginning of a request, or more of it; return when the server has it."""
        wanted = len(data) + sum(one._received_bytes for one in self.ends if one._began_s is not None)
        self.writer.write(data)
        await until(lambda: [one._received_bytes for one in self.ends] == [wanted])

    @property
    def ends(self) -> list[BoundedHttp]:
        return [one for one in self.server.server_state.connections if isinstance(one, BoundedHttp)]

    def look(self, later_s: float) -> None:
        """What the server does so much later."""
        for end in self.ends:
            end.hang_up_if_slow(asyncio.get_running_loop().time() + later_s)

    async def is_open(self) -> bool:
        """True where the server has not hung up."""
        for _ in range(20):
            await asyncio.sleep(0)
        return bool(self.ends)


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    listener = socket.create_server(("127.0.0.1", 0))
    begun = asyncio.Event()
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", http=BoundedHttp, ws="none")
    server = _Serving(config, begun.set, Ending(), listener, 0)
    serving = asyncio.create_task(server.serve(sockets=[listener.dup()]))
    await begun.wait()
    line = Line(server, listener.getsockname()[1])
    await line.open()
    await until(lambda: bool(line.ends))
    yield line
    line.writer.close()
    server.stop()
    server.stop()
    await serving


@pytest.mark.parametrize(
    "sent", [b"", b"POST / HT", HEAD % 100 + b"half"], ids=["nothing", "half a head", "half a body"]
)
async def test_a_request_that_does_not_come_on_ends_the_connection(line: Line, sent: bytes) -> None:
    if sent:
        await line.send(sent)
    line.look(PATIENCE_S - 1)
    assert await line.is_open()
    line.look(PATIENCE_S + 1)
    assert not await line.is_open()


async def test_a_long_request_has_time_for_what_it_brings(line: Line) -> None:
    await line.send(HEAD % 10**6 + b"x" * (5 * BYTES_S_MIN))
    line.look(PATIENCE_S + 4)
    assert await line.is_open()
    line.look(PATIENCE_S + 7)
    assert not await line.is_open()


async def test_between_requests_the_idle_time_of_the_server_holds(line: Line) -> None:
    await line.send(HEAD % 3 + b"abc")
    assert (await line.reader.readuntil(b"       3")).startswith(b"HTTP/1.1 200")
    line.look(PATIENCE_S * 100)
    assert await line.is_open()
    await line.send(b"POST / HT")
    line.look(PATIENCE_S + 1)
    assert not await line.is_open()


async def test_a_head_without_end_is_refused(line: Line) -> None:
    line.writer.write(b"GET / HTTP/1.1\r\nx: " + b"y" * (HEAD_BYTES_MAX + 65_536 * 4))
    async with asyncio.timeout(10):
        assert (await line.reader.readline()).startswith(b"HTTP/1.1 400")


def test_a_body_does_not_wait_for_the_receipt_of_its_head() -> None:
    with (
        listen(ServerSettings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.slow
async def test_the_server_looks_by_itself(line: Line) -> None:
    await line.send(b"POST / HT")
    async with asyncio.timeout(PATIENCE_S + 10):
        assert await line.reader.read() == b""
