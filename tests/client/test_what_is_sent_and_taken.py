"""What does a client refuse to send, and what does it not take for the answer of a platform?"""

from collections.abc import Callable

import httpx2
import pytest

from earnest.client import jobs
from earnest.client.client import WAIT_S, AsyncClient, Client
from earnest.client.problem import Problem
from earnest.client.retrying import Patience
from earnest.foundation.errors import Refused, Unavailable

URL = "http://127.0.0.1:8420"
BROKEN = "\udcff"
"""What Python makes of a byte on the command line that is no text."""


def client_of(answer: httpx2.Response) -> Client:
    return Client(URL, "ern_live_x", transport=httpx2.MockTransport(lambda _: answer), patience=Patience(attempts=1))


def answered(text: str, **headers: str) -> Client:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client_of(httpx2.Response(200, text=text, headers=named))


@pytest.mark.parametrize("key", ["ern_live_x\r", "ern_live_x\n", "ern live", " ", "ключ"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(Refused) as told:
        Client(URL, key)
    assert told.value.code == "validation"
    assert key.strip() not in str(told.value) or not key.strip()


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://127.0.0.1:x",
        "http://\0",
        f"https://{'a' * 300}",
        "http://127.0.0.1?a=1",
        "http://127.0.0.1#a",
        "ftp://127.0.0.1",
    ],
)
def test_an_address_that_leads_nowhere_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="the address of a platform"):
        Client(url)


@pytest.mark.parametrize("key", ["", "a b", "a\n", "é", "x" * 256])
def test_an_idempotency_key_that_no_platform_takes_is_refused(key: str) -> None:
    with pytest.raises(Refused, match="1 to 255 visible"):
        answered("{}").keyed(key)


@pytest.mark.parametrize(
    "asked",
    [
        lambda client: client.get_job(BROKEN),
        lambda client: client.list_jobs(category=BROKEN),
        lambda client: client.register(handle="maya", description=BROKEN),
        lambda client: client.upload(b"x", "text/é"),
        lambda client: client.get_job(""),
        lambda client: client.claim_job("."),
        lambda client: client.claim_job(".."),
    ],
)
def test_what_cannot_be_sent_as_it_is_is_refused(asked: Callable[[Client], object]) -> None:
    with pytest.raises(Refused) as told:
        asked(answered("{}"))
    assert told.value.code == "validation"


@pytest.mark.parametrize("text", ["", "<html>", "[]", "null", "1", "[" * 100_000, "1" * 5_000])
def test_an_answer_that_is_no_object_is_no_platforms(text: str) -> None:
    client = answered(text)
    with pytest.raises(Unavailable, match="no platform"):
        client.home()
    with pytest.raises(Unavailable, match="no platform"):
        client.get_me()


@pytest.mark.parametrize("text", ["{}", '{"data": []}', '{"data": 1, "next_cursor": null}'])
async def test_an_object_that_is_no_page_is_no_platforms(text: str) -> None:
    with pytest.raises(Unavailable, match="no platform"):
        list(answered(text).each(jobs.list_jobs()))
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text=text))
    async with AsyncClient(URL, transport=transport) as client:
        with pytest.raises(Unavailable, match="no platform"):
            [job async for job in client.each(jobs.list_jobs())]


def test_unchanged_is_no_answer_to_a_first_look() -> None:
    with pytest.raises(Unavailable, match="no platform"):
        client_of(httpx2.Response(304)).home()


@pytest.mark.parametrize(("told", "wait_s"), [("60", 60), ("-5", WAIT_S), ("soon", WAIT_S), ("9" * 5_000, 999_999_999)])
def test_any_advice_is_read_or_left(told: str, wait_s: int) -> None:
    assert answered("{}", next_check_in_after=told).home().next_check_s == wait_s


def test_a_date_that_no_clock_has_says_nothing() -> None:
    headers = {"retry-after": f"Mon, 01 Jan 2026 00:00:00 +{'9' * 13}"}
    with pytest.raises(Problem) as told:
        client_of(httpx2.Response(429, headers=headers)).get_me()
    assert told.value.retry_after_ms is None
