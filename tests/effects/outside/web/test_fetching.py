"""Does a fetch keep to the rules on every hop, and to its bounds whatever a server does?"""

import asyncio
import socket
import threading

import pytest
from web_servers import PUBLIC, Answer, internet, reply

from earnest.effects.outside.web.fetching import FetchLimits
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused, Unavailable


async def test_a_page_is_given_whole_with_its_digest() -> None:
    with internet(lambda line, connection: connection.sendall(reply(b"<p>Hello</p>"))) as net:
        page = await net.web().fetch("http://a.org/x?y=1#part")
    assert (page.url, page.status, page.body) == ("http://a.org/x?y=1", 200, b"<p>Hello</p>")
    assert page.digest == digest_bytes(b"<p>Hello</p>")
    assert net.dialled == [(PUBLIC, 80)]
    head = net.requests[0]
    assert head.startswith("GET /x?y=1 HTTP/1.1\r\nHost: a.org\r\n")
    assert "cookie" not in head.lower()
    assert "authorization" not in head.lower()


async def test_redirections_are_followed_and_each_is_looked_at() -> None:
    def answer(line: str, connection: socket.socket) -> None:
        there = reply(b"", "302 Found", Location="http://b.org/there")
        connection.sendall(reply(b"found") if "/there" in line else there)

    with internet(answer) as net:
        page = await net.web().fetch("http://a.org/")
    assert (page.url, page.body) == ("http://b.org/there", b"found")


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://127.0.0.1/", "address_refused"),
        ("http://[::1]/", "address_refused"),
        ("http://169.254.169.254/latest/meta-data", "address_refused"),
        ("http://inside.org/", "address_refused"),
        ("http://2130706433/", "address_refused"),
        ("http://b.org:8080/", "url_refused"),
        ("http://user:word@b.org/", "url_refused"),
        ("file:///etc/passwd", "url_refused"),
        ("http://[", "url_refused"),
        ("/again", "page_refused"),
    ],
)
async def test_a_redirection_does_not_lead_where_a_fetch_may_not_go(location: str, code: str) -> None:
    redirection = reply(b"", "302 Found", Location=location)
    with internet(lambda line, connection: connection.sendall(redirection)) as net:
        net.names = {"inside.org": [["10.0.0.5"]], "2130706433": [["127.0.0.1"]]}
        with pytest.raises(Refused) as caught:
            await net.web().fetch("http://a.org/")
    assert caught.value.code == code
    assert {address for address, _ in net.dialled} == {PUBLIC}


async def test_a_name_with_one_private_address_is_refused_whole() -> None:
    with internet(lambda line, connection: connection.sendall(reply(b"x"))) as net:
        net.names = {"a.org": [[PUBLIC, "192.168.0.1"]]}
        with pytest.raises(Refused):
            await net.web().fetch("http://a.org/")
    assert not net.dialled


async def test_a_name_that_resolves_differently_later_is_dialled_where_it_was_looked_at() -> None:
    with internet(lambda line, connection: connection.sendall(reply(b"x"))) as net:
        net.names = {"a.org": [[PUBLIC], ["127.0.0.1"]]}
        page = await net.web().fetch("http://a.org/")
    assert page.body == b"x"
    assert net.dialled == [(PUBLIC, 80)]


@pytest.mark.parametrize(
    "sent",
    [
        reply(b"x" * 2000),
        reply(b"x", Content_Encoding="gzip"),
    ],
    ids=["too long", "compressed"],
)
async def test_a_page_beyond_its_bounds_is_refused(sent: bytes) -> None:
    with internet(lambda line, connection: connection.sendall(sent)) as net, pytest.raises(Refused) as caught:
        await net.web().fetch("http://a.org/", limits=FetchLimits(body_bytes=1000))
    assert caught.value.code == "page_refused"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        reply(b"short")[:-2],
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["nothing", "no http", "cut off", "a huge header", "many headers", "bad chunks"],
)
async def test_what_is_no_answer_is_an_outage(sent: bytes) -> None:
    answer: Answer = lambda line, connection: connection.sendall(sent)  # noqa: E731
    with internet(answer) as net, pytest.raises(Unavailable, match=r"a\.org"):
        await net.web().fetch("http://a.org/")


async def test_a_server_that_drips_is_left_at_the_deadline() -> None:
    left = threading.Event()

    def answer(line: str, connection: socket.socket) -> None:
        connection.settimeout(0.02)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            try:
                if connection.recv(1) == b"":
                    left.set()
                    return
            except TimeoutError:
                connection.sendall(b"y")

    with internet(answer) as net:
        with pytest.raises(Unavailable, match=r"within 0\.2 s"):
            await net.web().fetch("http://a.org/", limits=FetchLimits(deadline_ms=200, silence_ms=5_000))
        assert await asyncio.to_thread(left.wait, 10)


async def test_a_server_that_is_silent_is_left() -> None:
    def answer(line: str, connection: socket.socket) -> None:
        connection.recv(1)

    with internet(answer) as net, pytest.raises(Unavailable, match="in time"):
        await net.web().fetch("http://a.org/", limits=FetchLimits(silence_ms=100))


async def test_a_cancelled_fetch_closes_its_connection() -> None:
    asked, left = threading.Event(), threading.Event()

    def answer(line: str, connection: socket.socket) -> None:
        asked.set()
        connection.recv(1)
        left.set()

    with internet(answer) as net:
        fetching = asyncio.create_task(net.web().fetch("http://a.org/"))
        assert await asyncio.to_thread(asked.wait, 10)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        assert await asyncio.to_thread(left.wait, 10)


async def test_nobody_there_is_an_outage() -> None:
    with internet(lambda line, connection: None) as net:
        web = net.web()
    with pytest.raises(Unavailable):
        await web.fetch("http://a.org/")


async def test_https_is_not_spoken_in_the_clear() -> None:
    with internet(lambda line, connection: connection.sendall(reply(b"x"))) as net, pytest.raises(Unavailable):
        await net.web().fetch("https://a.org/", limits=FetchLimits(silence_ms=200))
    assert net.dialled == [(PUBLIC, 443)]
