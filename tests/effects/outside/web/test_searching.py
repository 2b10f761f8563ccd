"""Is each engine asked in its own words, and does its key go nowhere else?"""

import json

import pytest
from web_servers import Internet, internet, reply

from earnest.effects.outside.web.fetching import FetchLimits
from earnest.effects.outside.web.searching import SearchEngine, Searcher
from earnest.effects.outside.web.text import SearchResult
from earnest.foundation.errors import Unavailable

FOUND = SearchResult(title="T", url="https://a.org/", snippet="s")
ROW = {"title": "T", "link": "https://a.org/", "snippet": "s"}
LISTS = {SearchEngine.GOOGLE: "items", SearchEngine.SERPER: "organic"}


def searcher(engine: SearchEngine) -> Searcher:
    return Searcher(engine=engine, api_key="very-secret", cx="17")


async def ask(net: Internet, engine: SearchEngine) -> list[SearchResult]:
    return await searcher(engine).search(net.web(tls=False), "two words & more", FetchLimits())


@pytest.mark.parametrize("engine", LISTS)
async def test_an_engine_with_a_key_is_asked_for_json(engine: SearchEngine) -> None:
    body = json.dumps({LISTS[engine]: [ROW]}).encode()
    with internet(lambda line, connection: connection.sendall(reply(body))) as net:
        assert await ask(net, engine) == [FOUND]
    line, _, head = net.requests[0].partition("\r\n")
    assert "very-secret" in head
    assert "very-secret" not in line


async def test_an_answer_without_the_list_says_that_there_is_none() -> None:
    with internet(lambda line, connection: connection.sendall(reply(b"{}"))) as net:
        assert await ask(net, SearchEngine.SERPER) == []


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'{"organic": [1]}', b'{"organic": 3}', b'{"organic": [{}]}', b"[" * 99999]
)
async def test_an_answer_that_cannot_be_read_is_an_outage(body: bytes) -> None:
    with internet(lambda line, connection: connection.sendall(reply(body))) as net, pytest.raises(Unavailable):
        await ask(net, SearchEngine.SERPER)


async def test_a_refusal_of_the_engine_is_an_outage_that_does_not_tell_the_key() -> None:
    refusal = reply(b"very-secret is not valid", "403 Forbidden")
    serving = internet(lambda line, connection: connection.sendall(refusal))
    with serving as net, pytest.raises(Unavailable) as caught:
        await ask(net, SearchEngine.GOOGLE)
    assert "very-secret" not in str(caught.value)
    assert "very-secret" not in repr(searcher(SearchEngine.GOOGLE))


async def test_a_redirection_is_followed_without_the_key() -> None:
    redirection = reply(b"", "302 Found", Location="http://b.org/")
    with internet(
        lambda line, connection: connection.sendall(reply(b"{}") if line.startswith("GET / ") else redirection)
    ) as net:
        assert await ask(net, SearchEngine.SERPER) == []
    assert ["very-secret" in request for request in net.requests] == [True, False]
