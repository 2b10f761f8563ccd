"""Are requests that are made to be misread refused, and does nothing tell a secret?"""

import asyncio
import contextlib
import hmac
import json
import logging
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from earnest.identity.key import KeyedHash
from earnest.surfaces.web.wire import HEAD_BYTES_MAX, BoundedHttp
from earnest.testing.served import served
from surfaces.web.conftest import URL, Site

from .operations import Operation
from .people import People, gathered, whole, with_belongings
from .test_who_may import WHO

JSON = ("Content-Type", "application/json")
OWN = {"Origin": URL}
ELSEWHERE: tuple[dict[str, str], ...] = (
    {},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Origin": "http://127.0.0.1:9999"},
    {"Origin": "https://127.0.0.1:8420.evil.example"},
    {"Origin": "http://evil.example", "Host": "127.0.0.1:8420"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Referer": URL},
)
DEEP = 65
START_S = 20


@pytest.fixture
async def people(site: Site) -> People:
    return await gathered(site)


# Headers.


async def test_of_two_keys_none_is_believed(people: People) -> None:
    ann, olga = people.keys["ann"]["live"], people.olga
    for first, second in ((ann, olga), (olga, ann), (ann, ann), (ann, "x")):
        headers = [("Authorization", f"Bearer {first}"), ("authorization", f"Bearer {second}")]
        for path in ("/api/v1/agents/me", "/api/v1/operator/accounts", "/api/v1/jobs"):
            answer = await people.site.client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unknown_key")
    joined = {"Authorization": f"Bearer {ann}, Bearer {olga}"}
    assert (await people.site.client.get("/api/v1/agents/me", headers=joined)).status_code == 401


async def test_an_idempotency_key_is_visible_ascii(people: People) -> None:
    before, ann = people.books(), f"Bearer {people.keys['ann']['live']}".encode()
    for key in (b"", b" ", b"a b", b"a\nb", b"a\r\nX-Admin: 1", b"a\x00", b"\xc3\xa9", b"a" * 256, b"a\x7f"):
        headers: Any = [(b"Authorization", ann), (b"Idempotency-Key", key)]
        answer = await people.site.client.post("/api/v1/agents/me/keys", headers=headers, json={"scope": "hb"})
        assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_required"), key
    assert people.books() == before


async def test_two_idempotency_keys_are_none(people: People) -> None:
    headers = [
        ("Authorization", f"Bearer {people.keys['ann']['live']}"),
        ("Idempotency-Key", "a"),
        ("Idempotency-Key", "b"),
    ]
    answer = await people.site.client.post("/api/v1/agents/me/keys", headers=headers, json={"scope": "hb"})
    assert answer.json()["code"] == "idempotency_key_required"


async def test_no_other_header_changes_what_is_asked_or_who_asks(people: People) -> None:
    for name in ("X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Account-Id", "Forwarded"):
        for value in ("DELETE", "/api/v1/operator/accounts", people.keys["ann"]["id"]):
            answer = await people.ask("bob", "GET", "/agents/me", headers={name: value})
            assert (answer.status_code, answer.json()["id"]) == (200, people.keys["bob"]["id"]), name


@contextlib.asynccontextmanager
async def heard() -> AsyncIterator[int]:
    """The port of a server that answers whatever it can read."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, http=BoundedHttp, log_config=None, lifespan="off", ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with asyncio.timeout(START_S):
            while not server.started:  # noqa: ASYNC110 - uvicorn says so in no other way
                await asyncio.sleep(0)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


async def told(port: int, head: bytes, endless: bytes) -> tuple[bytes, int]:
    """What a server says to something that never ends, and how much of it was sent by then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer, sent = asyncio.create_task(reader.read(65_536)), len(head)
    writer.write(head)
    with contextlib.suppress(ConnectionError):
        while not answer.done() and sent < 64 * HEAD_BYTES_MAX:
            writer.write(endless)
            sent += len(endless)
            await writer.drain()
    with contextlib.suppress(ConnectionError):
        await answer
    writer.close()
    said = b"" if answer.cancelled() or answer.exception() else answer.result()
    return said, sent


@pytest.mark.parametrize(
    ("head", "endless"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", b"a" * 4_096),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-Many: 1\r\n" * 400),
        (b"GET /", b"a" * 4_096),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ", b"a" * 4_096),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 4_096),
    ],
    ids=["a header", "headers", "an address", "a trailer", "an extension of a chunk"],
)
async def test_a_head_without_end_is_cut_off(head: bytes, endless: bytes) -> None:
    async with heard() as port:
        said, sent = await told(port, head, endless)
    assert said.startswith(b"HTTP/1.1 400") or said == b"", said
    assert sent < 64 * HEAD_BYTES_MAX


async def test_a_long_body_in_small_parts_and_many_requests_are_no_head(site: Site) -> None:
    async with heard() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        size = 8 * HEAD_BYTES_MAX
        for _ in range(3):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + str(size).encode() + b"\r\n\r\n")
            for _ in range(size // 1_024):
                writer.write(b"x" * 1_024)
                await writer.drain()
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        for _ in range(2_000):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.close()


@pytest.mark.slow
def test_a_served_platform_cuts_off_a_head_without_end(tmp_path: Path) -> None:
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    with served(tmp_path / "home", environment) as platform:
        port = int(platform.url.rpartition(":")[2])
        said, sent = asyncio.run(told(port, b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", b"a" * 4_096))
        assert said.startswith(b"HTTP/1.1 400") or said == b""
        assert sent < 64 * HEAD_BYTES_MAX
        assert platform.ask("GET", "/meta/limits")


# Bodies and queries.


@pytest.mark.slow
async def test_no_operation_takes_a_body_that_readers_do_not_agree_on(
    people: People, operations: dict[str, Operation]
) -> None:
    before, wrong = people.books(), []
    for name, operation in operations.items():
        if operation.body is None:
            continue
        text = json.dumps(operation.sample())
        member = next(iter(operation.sample()), "reason")
        bodies = (
            text[:-1] + f'{"," if text != "{}" else ""}"{member}": 1, "{member}": 2}}',
            text[:-1] + ("," if text != "{}" else "") + '"x": ' + "[" * DEEP + "]" * DEEP + "}",
            "\ufeff" + text,
            text + text,
            text.replace("{", '{"\\ud800": 1,', 1) if text != "{}" else '{"\\ud800": 1}',
            text[:-1],
        )
        who = "olga" if WHO[name] == "op" else "ann"
        for body in bodies:
            answer = await people.ask(
                who, operation.method, whole(operation.at()), content=body.encode("utf-8"), headers=dict([JSON])
            )
            if answer.json().get("code") != "malformed_json":
                wrong.append(f"{name} {body[:60]}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)
    assert people.books() == before


@pytest.mark.slow
async def test_no_operation_takes_a_parameter_that_it_does_not_know_or_twice(
    people: People, operations: dict[str, Operation]
) -> None:
    for name, operation in operations.items():
        who = "olga" if WHO[name] in {"op", "op aud"} else "ann"
        answer = await people.ask(who, operation.method, f"{whole(operation.at())}?nobody_knows=1", operation.sample())
        assert answer.json()["code"] == "unknown_field", name
        for parameter in operation.query:
            twice = "&".join([f"{parameter}=1"] * 2)
            answer = await people.ask(who, operation.method, f"{whole(operation.at())}?{twice}")
            assert answer.json()["code"] == "validation", f"{name} {parameter}"
        many = "&".join(f"x{number}=1" for number in range(2_000))
        answer = await people.ask(who, operation.method, f"{whole(operation.at())}?{many}", operation.sample())
        assert answer.json()["code"] == "unknown_field", name


# Logins.


async def test_a_login_that_somebody_else_chose_is_never_one(people: People) -> None:
    """Session fixation: a cookie that was planted proves nothing, before and after a login beside it."""
    site, planted = people.site, "A" * 43
    site.client.cookies.set("earnest_session", planted)
    page = await site.client.post("/login", data={"key": people.olga}, headers=OWN)
    assert page.status_code == 303
    own = page.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert own != planted
    for cookie, status in ((planted, 401), (own, 200)):
        site.client.cookies.clear()
        site.client.cookies.set("earnest_session", cookie)
        assert (await site.ask("GET", "/operator/accounts")).status_code == status
    again = await site.client.post("/login", data={"key": people.olga}, headers=OWN)
    assert own not in again.headers["set-cookie"], "each login has a secret of its own"


@pytest.mark.slow
async def test_a_page_elsewhere_changes_nothing_with_a_login(people: People, operations: dict[str, Operation]) -> None:
    site = people.site
    mine = await site.register("mine")
    await site.client.post("/login", data={"key": people.olga}, headers=OWN)
    before = people.books()
    for headers in ELSEWHERE:
        for name, operation in operations.items():
            if operation.method == "GET" or "op" not in WHO[name].split():
                continue
            answer = await site.ask(operation.method, whole(operation.at()), json=operation.sample(), headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "cross_site"), f"{name} {headers}"
        page = await site.client.post(mine["claim_url"], data={"mail": ""}, headers=headers)
        assert page.status_code == 403
    assert people.books() == before


# Secrets.


async def test_keys_and_digests_are_compared_in_constant_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared with what somebody sent goes through `hmac.compare_digest`, the key and the operator's link."""
    compared: list[tuple[object, object]] = []
    real = hmac.compare_digest

    def watched(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return bool(real(one, other))

    monkeypatch.setattr(hmac, "compare_digest", watched)
    key = await site.operator()
    linked = len(compared)
    assert linked, "the link was compared"
    assert (await site.ask("GET", "/agents/me", key=key)).status_code == 200
    assert len(compared) > linked, "the key was compared"
    assert all(isinstance(one, str) and len(one) == 64 for pair in compared for one in pair), "digests, never secrets"


def test_the_platforms_secret_is_not_in_what_a_log_would_show_of_it() -> None:
    secret = bytes(range(32))
    shown = repr(KeyedHash(secret)) + str(KeyedHash(secret))
    assert secret.hex() not in shown
    assert repr(secret) not in shown


@pytest.mark.slow
async def test_no_secret_of_a_whole_day_is_in_facts_logs_metrics_or_answers_to_others(
    people: People, caplog: pytest.LogCaptureFixture, operations: dict[str, Operation]
) -> None:
    caplog.set_level(logging.DEBUG)
    await with_belongings(people)
    site, said = people.site, ""
    await site.client.post("/login", data={"key": people.olga}, headers=OWN)
    secrets = [people.olga, site.client.cookies["earnest_session"]]
    site.client.cookies.clear()
    secrets += [keys[scope] for keys in people.keys.values() for scope in ("reg", "live", "hb")]
    for name, operation in operations.items():  # a key where none belongs
        for secret in secrets[:3]:
            ids = dict.fromkeys(operation.names, secret)
            answer = await people.ask(
                "eve", operation.method, whole(operation.at(ids)), {"key": secret, secret: secret}
            )
            assert answer.status_code < 500, name
            said += json.dumps(answer.json().get("title"))
    said += (await site.client.get("/metrics")).text
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx2")]
    kept = site.market.desk.database.read_sync(
        lambda reader: b"".join(
            [
                *(fact.body_json for fact in reader.facts()),
                *(str(row).encode() for row in reader.execute("SELECT * FROM replies")),
                *(str(row).encode() for row in reader.execute("SELECT * FROM keys")),
                *(str(row).encode() for row in reader.execute("SELECT * FROM sessions")),
                *(str(row).encode() for row in reader.execute("SELECT * FROM links")),
            ]
        )
    )
    written = kept + "\n".join([said, *logged]).encode()
    assert [secret for secret in secrets if secret.rpartition("_")[2].encode() in written] == []
