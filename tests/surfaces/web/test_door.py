"""What every request meets: keys, limits, headers, strict bodies, problems."""

import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import pytest

from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.runtime.desk import Desk
from earnest.surfaces.web.door import BODY_BYTES_MAX
from earnest.surfaces.web.home import HomePage
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.surfaces.web.problems import CODES, problem

from .conftest import GENEROUS, URL, Site

STRICT = Quotas(
    home=GENEROUS.home,
    read=Quota(name="read", count=3, window_s=60),
    write=Quota(name="write", count=2, window_s=60),
    register=Quota(name="register", count=2, window_s=3_600),
)
JSON = {"Content-Type": "application/json"}


# Keys.


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (None, "missing_key"),
        ("Bearer ern_live_" + "0" * 43, "unknown_key"),
        ("Bearer ern_live_short", "unknown_key"),
        ("Bearer ' OR 1=1 --", "unknown_key"),
        ("Bearer", "unknown_key"),
        ("Basic b2xnYTpvbGdh", "unknown_key"),
        ("Bearer \u00e9", "unknown_key"),
    ],
)
async def test_who_shows_no_key_of_ours_is_nobody(site: Site, given: str | None, code: str) -> None:
    headers = {} if given is None else {"Authorization": given.encode("utf-8")}
    refused = await site.client.get("/api/v1/agents/me", headers=headers)  # type: ignore[arg-type]
    assert (refused.status_code, refused.json()["code"]) == (401, code)
    assert refused.headers["www-authenticate"] == "Bearer"


async def test_a_wrong_key_is_refused_where_none_is_needed_too(site: Site) -> None:
    assert (await site.ask("GET", "/meta/errors")).status_code == 200
    assert (await site.ask("GET", "/meta/errors", key="ern_live_" + "0" * 43)).status_code == 401


async def test_the_scope_in_a_key_proves_nothing(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    forged = agent["hb"].replace("ern_hb_", "ern_op_")
    assert (await site.ask("GET", "/operator/accounts", key=forged)).json()["code"] == "unknown_key"


# Headers.


async def test_every_answer_says_when_which_and_how_much_is_left(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    for answer in (
        await site.ask("GET", "/agents/me", key=agent["live"]),
        await site.ask("GET", "/agents/me"),
        await site.ask("GET", "/no/such/path"),
        await site.ask("PUT", "/agents/me"),
        await site.ask("POST", "/agents/register", content=b"{", headers=JSON),
    ):
        moment = parsedate_to_datetime(answer.headers["date"])
        assert int(moment.timestamp()) == site.clock.now_ms() // 1000
        assert re.fullmatch(r"req_[0-9A-Z]{26}", answer.headers["request-id"])
        assert re.fullmatch(r'"\w+";r=\d+;t=\d+', answer.headers["ratelimit"])
        assert re.fullmatch(r'"\w+";q=\d+;w=\d+', answer.headers["ratelimit-policy"])
        assert {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"} <= set(answer.headers)


async def test_what_is_shown_to_one_is_kept_for_no_other(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    answer = await site.ask("GET", "/agents/me", key=agent["live"])
    assert answer.headers["cache-control"] == "private, no-cache"
    assert answer.headers["vary"] == "Authorization"


# Problems.


async def test_a_path_or_method_that_is_not_there_is_a_problem(site: Site) -> None:
    missing, wrong = await site.ask("GET", "/no/such/path"), await site.ask("PUT", "/agents/me")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET"
    assert (await site.ask("PUT", "/agents/me/keys")).headers["allow"] == "GET, POST"
    assert (await site.ask("TRACE", "/agents/me", key="x")).status_code == 405
    assert missing.headers["content-type"] == "application/problem+json"
    assert (await site.client.get("/api/v1/agents/me/")).status_code == 404, "no path has two spellings"


async def test_a_problem_has_every_member_and_its_own_number(site: Site) -> None:
    answer = await site.ask("GET", "/agents/me")
    body = answer.json()
    assert {"type", "title", "status", "detail", "instance", "code", "request_id", "retryable"} <= set(body)
    assert body["request_id"] == answer.headers["request-id"]
    assert body["type"] == "/api/v1/meta/errors#missing-key"
    assert body["instance"] == "/api/v1/agents/me"


def test_a_code_outside_the_list_is_a_fault_of_ours() -> None:
    answer = problem("made_up", "because", "req_1", "/x", {"secret": 1})
    assert answer.status_code == 500
    assert json.loads(bytes(answer.body))["code"] == "internal_error"
    assert b"secret" not in bytes(answer.body)


def test_details_cannot_replace_a_member_of_the_form() -> None:
    answer = json.loads(bytes(problem("not_found", "gone", "req_1", "/x", {"status": 200, "state": "open"}).body))
    assert (answer["status"], answer["state"]) == (404, "open")


async def test_the_list_of_codes_is_public(site: Site) -> None:
    listed = (await site.ask("GET", "/meta/errors")).json()["data"]
    assert {one["code"]: one["status"] for one in listed} == {code: meaning.status for code, meaning in CODES.items()}


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("ern_live_" + "k" * 43), 500, "internal_error"),
        (Broken("the database failed at /srv/olga/books"), 500, "internal_error"),
        (Unavailable("the file /srv/olga/books is locked", retry_after_ms=1_500), 503, "maintenance"),
        (Refused("not_found", "gone"), 404, "not_found"),
    ],
)
async def test_whatever_goes_wrong_is_a_problem_that_gives_nothing_away(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    code: str,
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Desk, "perform", fail)
    answer = await site.ask("POST", "/agents/register", json={"handle": "maya_r"})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "olga" not in answer.text
    assert "kkkk" not in answer.text + "".join(record.getMessage() for record in caplog.records)
    if status == 503:
        assert answer.headers["retry-after"] == "2"
    if status == 500:
        assert answer.headers["request-id"] in caplog.text


async def test_books_that_cannot_be_read_are_a_problem_too(site: Site) -> None:
    site.market.desk.database.close()
    answer = await site.ask("GET", "/agents/me", key="ern_live_" + "0" * 43)
    assert (answer.status_code, answer.json()["code"]) == (503, "maintenance")


# Bodies.


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"handle": NaN}',
        b'{"handle": Infinity}',
        b'{"handle": 1e999}',
        b'{"handle": "a", "handle": "b"}',
        b'{"handle": "maya_r"} {}',
        b'\xef\xbb\xbf{"handle": "maya_r"}',
        b'{"handle": "\\ud800"}',
        b'{"handle": "\xff"}',
        b'{"handle": ' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"handle": ' + b"[" * 100_000,
        b"1" * 5_000,
    ],
)
async def test_a_body_that_is_not_strict_json_is_refused(site: Site, body: bytes) -> None:
    refused = await site.ask("POST", "/agents/register", content=body, headers=JSON)
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_json")


async def test_a_number_that_json_readers_do_not_agree_on_is_refused(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    body = b'{"scope": "hb", "expires_in_s": 9007199254740993}'
    refused = await site.ask("POST", "/agents/me/keys", key=agent["live"], content=body, headers=JSON)
    assert refused.status_code in {400, 422}


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data"])
async def test_another_media_type_is_refused(site: Site, media_type: str) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    refused = await site.ask("POST", "/agents/register", content=b'{"handle": "maya_r"}', headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media")


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_body_that_is_too_large_is_refused(site: Site, is_told: bool) -> None:
    async def parts() -> Any:
        for _ in range(BODY_BYTES_MAX // 65_536 + 1):
            yield b" " * 65_536

    content = b" " * (BODY_BYTES_MAX + 1) if is_told else parts()
    refused = await site.ask("POST", "/agents/register", content=content, headers=JSON)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")


async def test_what_nobody_knows_is_refused_in_bodies_and_queries(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    for answer in (
        await site.ask("POST", "/agents/register", json={"handle": "noor", "Handle": "noor"}),
        await site.ask("GET", "/agents/me?as=act_1", key=agent["live"]),
        await site.ask("POST", "/operator/login", key=agent["live"], json={"key": "x"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown_field")
        assert answer.json()["errors"]


async def test_the_text_of_a_refusal_names_what_its_code_means(site: Site) -> None:
    refused = (await site.ask("POST", "/agents/register", json={"Handle": "noor"})).json()
    assert (refused["code"], refused["detail"]) == (
        "unknown_field",
        "#/Handle: is no member of this object: remove it, or look at its spelling",
    )
    assert [one["pointer"] for one in refused["errors"]] == ["#/handle", "#/Handle"]


async def test_a_fault_names_its_place_and_not_what_was_sent(site: Site) -> None:
    refused = await site.ask("POST", "/agents/register", json={"handle": "ern_live_secret!"})
    assert refused.json()["errors"][0]["pointer"] == "#/handle"
    assert "ern_live_secret" not in refused.text


# Idempotency.


async def test_a_post_without_an_idempotency_key_does_nothing(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    sent = {"Authorization": f"Bearer {agent['live']}"}
    for headers in (sent, {**sent, "Idempotency-Key": ""}, {**sent, "Idempotency-Key": "x" * 256}):
        refused = await site.client.post("/api/v1/agents/me/keys", json={"scope": "hb"}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "idempotency_key_required")


async def test_the_same_key_for_another_request_is_a_conflict(site: Site) -> None:
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    same = {"Idempotency-Key": "same"}
    first = await site.ask("POST", "/agents/me/keys", key=agent["live"], json={"scope": "hb"}, headers=same)
    spelled = await site.ask(
        "POST", "/agents/me/keys", key=agent["live"], content=b' { "scope" : "hb" }', headers={**same, **JSON}
    )
    other = await site.ask("POST", "/agents/me/keys", key=agent["live"], json={"scope": "live"}, headers=same)
    assert spelled.json()["key_id"] == first.json()["key_id"], "white space is no difference"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_conflict")
    noor = await site.agent("noor", operator)
    own = await site.ask("POST", "/agents/me/keys", key=noor["live"], json={"scope": "live"}, headers=same)
    assert own.status_code == 201, "another actor's key is another key"


async def test_a_refusal_is_kept_with_its_key_and_given_again(site: Site) -> None:
    registered = await site.register("maya_r")
    same = {"Idempotency-Key": "same"}
    answers = [
        await site.ask("POST", "/agents/me/keys", key=registered["key"], json={"scope": "hb"}, headers=same)
        for _ in range(2)
    ]
    assert [answer.json()["code"] for answer in answers] == ["onboarding_required"] * 2
    assert "idempotency-replayed" not in answers[0].headers
    assert answers[1].headers["idempotency-replayed"] == "true"


# Limits.


class TestLimits:
    """Under limits that a test can reach."""

    @pytest.fixture
    def quotas(self) -> Quotas:
        return STRICT

    async def test_a_quota_is_an_exact_sliding_window(self, site: Site) -> None:
        async def look() -> httpx2.Response:
            return await site.ask("GET", "/meta/errors")

        first = await look()
        assert first.headers["ratelimit-policy"] == '"read";q=3;w=60'
        assert first.headers["ratelimit"] == '"read";r=2;t=60'
        await site.clock.advance_ms(30_000)
        assert [(await look()).status_code for _ in range(3)] == [200, 200, 429]
        await site.clock.advance_ms(29_001)
        refused = await look()
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
        assert refused.headers["retry-after"] == "1", "whole seconds, rounded up"
        assert refused.json()["violated-policies"] == ["read"]
        assert refused.headers["ratelimit"] == '"read";r=0;t=1'
        assert refused.headers["x-ratelimit-reset"] == str(site.clock.now_ms() // 1000 + 1)
        await site.clock.advance_ms(999)
        assert [(await look()).status_code for _ in range(2)] == [200, 429], "only the first has left the window"

    async def test_a_refused_request_is_not_counted(self, site: Site) -> None:
        for _ in range(10):
            await site.ask("GET", "/meta/errors")
        await site.clock.advance_ms(60_000)
        assert (await site.ask("GET", "/meta/errors")).status_code == 200

    async def test_registrations_are_counted_by_address_and_not_by_key(self, site: Site) -> None:
        keys = [(await site.register(handle))["key"] for handle in ("ana", "ben")]
        refused = await site.ask("POST", "/agents/register", key=keys[0], json={"handle": "cem"})
        assert refused.json()["violated-policies"] == ["register"]

    async def test_one_key_does_not_use_up_what_another_has(self, site: Site) -> None:
        ana, ben = [(await site.register(handle))["key"] for handle in ("ana", "ben")]
        codes = [(await site.ask("GET", "/agents/me", key=ana)).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert (await site.ask("GET", "/agents/me", key=ben)).status_code == 200

    async def test_wrong_keys_are_counted_by_address(self, site: Site) -> None:
        codes = [
            (await site.ask("GET", "/agents/me", key=f"ern_live_{number:043d}")).status_code for number in range(4)
        ]
        assert codes == [401, 401, 401, 429]

    async def test_an_address_is_counted_by_itself_and_an_ipv6_one_by_its_network(self, site: Site) -> None:
        async def asked_from(address: str) -> int:
            transport = httpx2.ASGITransport(app=site.app, client=(address, 1))
            async with httpx2.AsyncClient(transport=transport, base_url=URL) as client:
                return (await client.get("/api/v1/jobs")).status_code

        assert [await asked_from("::ffff:192.0.2.1") for _ in range(4)] == [200, 200, 200, 429]
        assert await asked_from("192.0.2.1") == 429, "the same, written otherwise"
        assert await asked_from("::ffff:192.0.2.2") == 200
        assert [await asked_from(f"2001:db8::{number}") for number in range(4)] == [200, 200, 200, 429]
        assert await asked_from("2001:db8:0:1::") == 200

    async def test_machines_of_the_operator_are_not_counted(self, site: Site) -> None:
        codes = {(await site.client.get(path)).status_code for path in ("/healthz", "/readyz", "/metrics") * 5}
        assert codes == {200}


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_what_is_given_twice_among_very_much_is_found_at_once(site: Site, method: str) -> None:
    members = ",".join(f'"k{number}":1' for number in range(80_000))
    body = f'{{{members},"k79999":1}}' if method == "POST" else ""
    path = "/agents/register" if method == "POST" else "/jobs?" + "&".join(["limit=1"] * 8_000)
    begin_s = time.process_time()
    answer = await site.ask(method, path, content=body, headers=JSON)
    assert answer.json()["code"] == ("malformed_json" if method == "POST" else "validation")
    assert time.process_time() - begin_s < 0.5


# Health.


async def test_requests_are_counted_by_route_and_never_by_path(site: Site) -> None:
    await site.ask("GET", "/no/such/path")
    await site.ask("DELETE", "/agents/me/keys/key_01J00000000000000000000000")
    text = (await site.client.get("/metrics")).text
    assert 'earnest_requests_total{method="DELETE",route="/api/v1/agents/me/keys/{key_id}",status="401"} 1.0' in text
    assert 'route="unmatched",status="404"' in text
    assert "key_01J" not in text
    assert "such" not in text


async def test_a_home_that_cannot_be_read_is_a_problem_too(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(*_: object) -> None:
        raise Unavailable("the server is away")

    monkeypatch.setattr(HomePage, "look", look)
    answer = await site.ask("GET", "/agents/me/home")
    assert (answer.status_code, answer.json()["code"]) == (503, "maintenance")
