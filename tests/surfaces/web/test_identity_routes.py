"""Registering, owning, keys, logins: over HTTP."""

import logging

import pytest

from earnest.identity.key import LINK_MS, SESSION_MS

from .conftest import Site

HOUR_MS = 3_600_000


async def test_a_stranger_becomes_an_agent_that_an_operator_owns(site: Site) -> None:
    operator = await site.operator()
    registered = await site.register("maya_r")
    assert registered["key"].startswith("ern_reg_")
    assert registered["status"] == "registered"
    status = await site.ask("GET", "/agents/me/status", key=registered["key"])
    assert [need["code"] for need in status.json()["needs"]] == ["operator"]
    secret = registered["claim_url"].rpartition("/")[2]
    owned = await site.ask("POST", "/operator/agents", key=operator, json={"secret": secret})
    assert owned.json()["status"] == "identity_verified"
    me = (await site.ask("GET", "/agents/me", key=registered["key"])).json()
    assert me["operator_id"] == owned.json()["operator_id"]
    again = await site.ask("POST", "/operator/agents", key=operator, json={"secret": secret})
    assert again.json()["code"] == "link_expired"


async def test_a_registered_agent_gets_no_further_key_before_somebody_owns_it(site: Site) -> None:
    registered = await site.register("maya_r")
    refused = await site.ask("POST", "/agents/me/keys", key=registered["key"], json={"scope": "live"})
    assert refused.json()["code"] == "onboarding_required"


async def test_a_claim_link_expires(site: Site) -> None:
    operator = await site.operator()
    registered = await site.register("maya_r")
    await site.clock.advance_ms(site.market.terms.claim_link_s * 1000)
    secret = registered["claim_url"].rpartition("/")[2]
    refused = await site.ask("POST", "/operator/agents", key=operator, json={"secret": secret})
    assert refused.status_code == 410


async def test_a_handle_has_one_account(site: Site) -> None:
    await site.register("maya_r")
    refused = await site.ask("POST", "/agents/register", json={"handle": "maya_r"})
    assert (refused.status_code, refused.json()["code"]) == (409, "handle_taken")


@pytest.mark.parametrize("handle", ["me", "ab", "Maya", "maya r", "../../x", "9lives", "a" * 33, "register", "é" * 5])
async def test_a_handle_that_cannot_be_one_is_refused(site: Site, handle: str) -> None:
    refused = await site.ask("POST", "/agents/register", json={"handle": handle})
    assert (refused.status_code, refused.json()["code"]) == (422, "validation")


async def test_a_rotated_key_works_until_its_overlap_is_over(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    rotated = (await site.ask("POST", "/agents/me/rotate-key", key=agent["live"], json={"overlap_s": 3_600})).json()
    assert rotated["scope"] == "live"
    assert (await site.ask("GET", "/agents/me", key=agent["live"])).status_code == 200
    await site.clock.advance_ms(HOUR_MS)
    assert (await site.ask("GET", "/agents/me", key=agent["live"])).json()["code"] == "expired_key"
    assert (await site.ask("GET", "/agents/me", key=rotated["key"])).status_code == 200


async def test_a_revoked_key_is_dead_at_once(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    assert (await site.ask("GET", "/agents/me", key=agent["hb"])).status_code == 200
    keys = (await site.ask("GET", "/agents/me/keys", key=agent["live"])).json()["data"]
    (heartbeat,) = [key for key in keys if key["scope"] == "hb"]
    await site.ask("DELETE", f"/agents/me/keys/{heartbeat['key_id']}", key=agent["live"])
    assert (await site.ask("GET", "/agents/me", key=agent["hb"])).json()["code"] == "expired_key"


async def test_a_key_of_somebody_else_cannot_be_revoked_nor_found(site: Site) -> None:
    operator = await site.operator()
    maya, noor = await site.agent("maya_r", operator), await site.agent("noor", operator)
    (key, *_) = (await site.ask("GET", "/agents/me/keys", key=maya["live"])).json()["data"]
    refused = await site.ask("DELETE", f"/agents/me/keys/{key['key_id']}", key=noor["live"])
    assert refused.json()["code"] == "not_found"
    assert (await site.ask("GET", "/agents/me", key=maya["live"])).status_code == 200


async def test_a_key_with_an_end_stops_working_then(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    asked = {"scope": "hb", "expires_in_s": 60}
    short = (await site.ask("POST", "/agents/me/keys", key=agent["live"], json=asked)).json()["key"]
    assert (await site.ask("GET", "/agents/me", key=short)).status_code == 200
    await site.clock.advance_ms(60_000)
    assert (await site.ask("GET", "/agents/me", key=short)).json()["code"] == "expired_key"


async def test_an_account_has_a_limited_number_of_keys(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    codes = [
        (await site.ask("POST", "/agents/me/keys", key=agent["live"], json={"scope": "hb"})).status_code
        for _ in range(18)
    ]
    assert codes == [201] * 17 + [409]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/agents/me/keys", {"scope": "live"}),
        ("POST", "/agents/me/rotate-key", None),
        ("DELETE", "/agents/me/keys/key_01J00000000000000000000000", None),
        ("GET", "/operator/accounts", None),
        ("POST", "/operator/keys", {"scope": "op"}),
        ("POST", "/operator/agents", {"secret": "x"}),
        ("POST", "/operator/accounts/act_01J00000000000000000000000/suspend", {"reason": "why"}),
        ("POST", "/operator/login", None),
    ],
)
async def test_a_heartbeat_key_does_none_of_this(site: Site, method: str, path: str, body: object) -> None:
    agent = await site.agent("maya_r", await site.operator())
    refused = await site.ask(method, path, key=agent["hb"], json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "heartbeat_scope_forbidden")


@pytest.mark.parametrize("scope", ["reg", "live"])
async def test_an_agent_is_no_operator(site: Site, scope: str) -> None:
    agent = await site.agent("maya_r", await site.operator())
    for path in ("suspend", "resume", "enable-payouts"):
        refused = await site.ask(
            "POST", f"/operator/accounts/{agent['id']}/{path}", key=agent[scope], json={"reason": "why"}
        )
        assert refused.json()["code"] == "scope_forbidden"


async def test_who_asks_is_the_key_and_never_a_member_of_the_body(site: Site) -> None:
    operator = await site.operator()
    maya, noor = await site.agent("maya_r", operator), await site.agent("noor", operator)
    refused = await site.ask(
        "POST", "/agents/me/keys", key=noor["live"], json={"scope": "hb", "account_id": maya["id"]}
    )
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_field")


async def test_a_suspended_account_may_look_and_do_nothing_else(site: Site) -> None:
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    enabled = f"/operator/accounts/{agent['id']}/enable-payouts"
    assert (await site.ask("POST", enabled, key=operator, json={"reason": "known"})).status_code == 200
    path = f"/operator/accounts/{agent['id']}/suspend"
    assert (await site.ask("POST", path, key=operator, json={"reason": "cheats"})).json()["status"] == "suspended"
    refused = await site.ask("POST", "/agents/me/keys", key=agent["live"], json={"scope": "hb"})
    assert refused.json()["code"] == "account_suspended"
    assert (await site.ask("GET", "/agents/me", key=agent["live"])).json()["status"] == "suspended"
    resumed = await site.ask(
        "POST", f"/operator/accounts/{agent['id']}/resume", key=operator, json={"reason": "a mistake"}
    )
    assert resumed.json()["status"] == "payouts_enabled"
    assert (await site.ask("POST", "/agents/me/keys", key=agent["live"], json={"scope": "hb"})).status_code == 201


async def test_an_auditor_reads_and_changes_nothing(site: Site) -> None:
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    given = await site.ask("POST", "/operator/keys", key=operator, json={"scope": "aud", "handle": "arthur"})
    auditor = given.json()["key"]
    assert auditor.startswith("ern_aud_")
    assert len((await site.ask("GET", "/operator/accounts", key=auditor)).json()["data"]) == 3
    for path, body in (
        (f"/operator/accounts/{agent['id']}/suspend", {"reason": "why"}),
        ("/operator/keys", {"scope": "op"}),
        ("/operator/login", None),
        ("/agents/me/keys", {"scope": "live"}),
    ):
        assert (await site.ask("POST", path, key=auditor, json=body)).json()["code"] == "scope_forbidden"


async def test_the_list_of_accounts_goes_on_where_it_ended(site: Site) -> None:
    operator = await site.operator()
    for handle in ("ana", "ben", "cem"):
        await site.clock.advance_ms(1_000)
        await site.register(handle)
    first = (await site.ask("GET", "/operator/accounts?limit=3", key=operator)).json()
    rest = (await site.ask("GET", f"/operator/accounts?limit=3&cursor={first['next_cursor']}", key=operator)).json()
    handles = [one["handle"] for one in (*first["data"], *rest["data"])]
    assert handles == ["olga", "ana", "ben", "cem"]
    assert rest["next_cursor"] is None


# The operator in a browser.


async def test_the_one_time_link_works_once_and_not_for_ever(site: Site) -> None:
    link = site.operator_link()
    assert "Set up" in (await site.client.get(f"/setup/{link}")).text
    made = await site.client.post(f"/setup/{link}", data={"handle": "olga"})
    assert "ern_op_" in made.text
    site.client.cookies.clear()
    assert (await site.client.post(f"/setup/{link}", data={"handle": "eve"})).status_code == 410
    other = site.operator_link()
    await site.clock.advance_ms(LINK_MS)
    assert (await site.client.get(f"/setup/{other}")).status_code == 410


async def test_a_second_link_logs_in_and_makes_no_second_operator(site: Site) -> None:
    await site.operator()
    page = await site.client.post(f"/setup/{site.operator_link()}", data={"handle": "eve"})
    assert "ern_op_" not in page.text
    assert (await site.ask("GET", "/agents/me")).json()["handle"] == "olga"


@pytest.mark.parametrize("spoil", [lambda link: link[:-1] + "0", lambda link: "f" + link[1:], lambda link: "x"])
async def test_a_link_that_was_altered_is_none(site: Site, spoil: object) -> None:
    link = site.operator_link()
    altered = spoil(link)  # type: ignore[operator]
    assert altered == link or (await site.client.post(f"/setup/{altered}", data={"handle": "eve"})).status_code == 404


async def test_a_login_is_a_cookie_that_scripts_and_other_sites_do_not_have(site: Site) -> None:
    key = await site.operator()
    page = await site.client.post("/login", data={"key": key})
    cookie = page.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict"))
    assert (await site.ask("GET", "/operator/accounts")).status_code == 200
    site.client.cookies.clear()
    assert (await site.ask("GET", "/operator/accounts")).status_code == 401


async def test_a_login_does_nothing_for_another_site(site: Site) -> None:
    await site.client.post("/login", data={"key": await site.operator()})
    for headers in ({}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        refused = await site.ask("POST", "/operator/logout", headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "cross_site")
    own = await site.ask("POST", "/operator/logout", headers={"Origin": "http://127.0.0.1:8420"})
    assert own.status_code == 200


async def test_a_login_ends_by_itself_and_by_logging_out(site: Site) -> None:
    key = await site.operator()
    await site.client.post("/login", data={"key": key})
    kept = dict(site.client.cookies)
    own = {"Origin": "http://127.0.0.1:8420"}
    assert (await site.ask("POST", "/operator/logout", headers=own)).status_code == 200
    site.client.cookies.update(kept)
    assert (await site.ask("GET", "/operator/accounts")).status_code == 401
    site.client.cookies.clear()
    await site.client.post("/login", data={"key": key})
    await site.clock.advance_ms(SESSION_MS)
    assert (await site.ask("GET", "/operator/accounts")).status_code == 401


async def test_no_wrong_key_logs_in_and_the_operators_login_takes_no_other(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    for key in ("ern_live_" + "0" * 43, "ern_op_" + "0" * 43, ""):
        assert (await site.client.post("/login", data={"key": key})).status_code == 401
    for scope in ("live", "hb"):
        assert (await site.ask("POST", "/operator/login", key=agent[scope])).status_code == 403
    assert not site.client.cookies


async def test_the_page_of_a_claim_shows_markup_of_strangers_as_text(site: Site) -> None:
    key = await site.operator()
    asked = {"handle": "mallory", "description": "<script>alert(1)</script>", "model_fingerprint": '"><img src=x>'}
    registered = (await site.ask("POST", "/agents/register", json=asked)).json()
    path = registered["claim_url"].removeprefix("http://127.0.0.1:8420")
    page = await site.client.get(path)
    assert "<script>" not in page.text
    assert "<img src=x" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert (await site.client.post(path, data={"mail": ""})).status_code == 401
    assert (await site.client.post(path, data={"key": registered["key"]})).status_code == 403
    assert (await site.client.post(path, data={"key": key})).status_code == 200
    assert (await site.client.get(path)).status_code == 410


# Secrets stay where they belong.


async def test_a_secret_is_shown_once_also_to_whoever_asks_again(site: Site) -> None:
    headers = {"Idempotency-Key": "same"}
    first = await site.ask("POST", "/agents/register", json={"handle": "maya_r"}, headers=headers)
    again = await site.ask("POST", "/agents/register", json={"handle": "maya_r"}, headers=headers)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.status_code == 201
    assert again.json() == {**first.json(), "key": None, "claim_url": None}


async def test_no_secret_stands_in_the_books_or_in_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    link = site.operator_link()
    page = await site.client.post(f"/setup/{link}", data={"handle": "olga"})
    operator, session = page.text.split("<code>")[1].split("</code>")[0], site.client.cookies["earnest_session"]
    site.client.cookies.clear()
    agent = await site.agent("maya_r", operator)
    rotated = (await site.ask("POST", "/agents/me/rotate-key", key=agent["live"])).json()["key"]
    secrets = [link, operator, session, agent["reg"], agent["live"], agent["hb"], rotated]
    kept = site.market.desk.database.read_sync(
        lambda reader: [
            *(fact.body_json for fact in reader.facts()),
            *(str(row).encode() for row in reader.execute("SELECT * FROM replies")),
            *(str(row).encode() for row in reader.execute("SELECT * FROM keys")),
        ]
    )
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx2")]
    written = b"\n".join(kept) + "\n".join(logged).encode()
    for secret in secrets:
        assert secret.encode() not in written
        assert secret.rpartition("_")[2].encode() not in written
