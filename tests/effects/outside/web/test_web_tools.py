"""Do `fetch` and `search` leave records that say what was there, and what went wrong?"""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_servers import Answer, Internet, internet, reply

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.available import UnavailableSandbox
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.tools.web import PART_CHARACTERS, PARTS_MAX, Fetch, Search
from earnest.effects.outside.web.searching import Searcher
from earnest.foundation.canonical import JsonValue
from earnest.foundation.failures import FailureClass

TEXT = "".join(f"line {number}\n" for number in range(2_000))
PAGES = {
    "/page": reply(b"<p>Hello <a href=/there>you</a></p>"),
    "/long": reply(TEXT.encode(), Content_Type="text/plain"),
    "/gone": reply(b"<p>not here</p>", "404 Not Found"),
    "/picture": reply(b"\0", Content_Type="image/png"),
    "/html/": reply(b'<div class="result"><a class="result__a" href="https://b.org/">B</a></div>'),
}


@pytest.fixture
def net() -> Iterator[Internet]:
    def answer(line: str, connection: socket.socket) -> None:
        connection.sendall(PAGES[line.split()[1]])

    serving: Answer = answer
    with internet(serving) as known:
        yield known


async def call(net: Internet, tool: str, **args: JsonValue) -> ToolRecord:
    web = net.web(tls=False)
    toolbox = Toolbox(SystemClock(), (Fetch(web), Search(web, Searcher())))
    place = ToolPlace(folder=Path("/nonexistent"), sandbox=UnavailableSandbox("none", SystemClock()))
    return await toolbox.perform(ToolCall(tool=tool, args=args), place)


async def test_a_page_is_shown_with_where_it_was_and_its_digest(net: Internet) -> None:
    record = await call(net, "fetch", url="https://a.org/page#top")
    first, _, rest = record.output_excerpt.partition("\n")
    assert record.ok
    assert record.target == "https://a.org/page"
    assert re.fullmatch(
        r"https://a\.org/page \(200, text/html; charset=utf-8, sha256:[0-9a-f]{64}\), part 1 of 1", first
    )
    assert rest == "Hello you <https://a.org/there>"


async def test_the_parts_of_a_long_page_are_whole_together(net: Internet) -> None:
    parts = -(-len(TEXT) // PART_CHARACTERS)
    records = [await call(net, "fetch", url="https://a.org/long", part=part) for part in range(1, parts + 1)]
    assert "".join(record.output_excerpt.partition("\n")[2] for record in records) == TEXT
    beyond = await call(net, "fetch", url="https://a.org/long", part=parts + 1)
    assert beyond.failure is not None
    assert (beyond.failure.code, beyond.failure.message) == ("no_part", f"https://a.org/long has {parts} parts")


@pytest.mark.parametrize(
    ("url", "code", "failure_class"),
    [
        ("https://a.org/gone", "http_status", FailureClass.ENVIRONMENTAL),
        ("https://a.org/picture", "page_refused", FailureClass.LOGICAL),
        ("http://127.0.0.1/", "address_refused", FailureClass.LOGICAL),
        ("file:///etc/passwd", "bad_args", FailureClass.LOGICAL),
    ],
)
async def test_what_went_wrong_is_classified(net: Internet, url: str, code: str, failure_class: FailureClass) -> None:
    failure = (await call(net, "fetch", url=url)).failure
    assert failure is not None
    assert (failure.code, failure.failure_class) == (code, failure_class)


@pytest.mark.parametrize("part", [0, -1, PARTS_MAX + 1, True, "1", 1.0])
async def test_a_part_is_a_number_from_one(net: Internet, part: JsonValue) -> None:
    failure = (await call(net, "fetch", url="https://a.org/page", part=part)).failure
    assert failure is not None
    assert failure.code == "bad_args"
    assert net.requests == []


async def test_a_search_lists_what_was_found(net: Internet) -> None:
    record = await call(net, "search", query="  two   words ")
    assert (record.ok, record.target, record.output_excerpt) == (True, "two words", "1. B\nhttps://b.org/\n")
    assert net.requests[0].startswith("POST /html/ ")
    empty = await call(net, "search", query="  ")
    assert empty.failure is not None
    assert empty.failure.code == "bad_args"
