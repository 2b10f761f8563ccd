"""Keys and logins: what ends with what, what makes what, and what all keys of an account share."""

import httpx2
import pytest

from surfaces.web.conftest import URL, Site
from surfaces.web.jobs import RIGHT

from .people import gathered

OWN = {"Origin": URL}


async def login(site: Site, key: str) -> dict[str, str]:
    """The cookie of a login by this key."""
    answer = await site.ask("POST", "/operator/login", key=key)
    assert answer.status_code == 200, answer.text
    site.client.cookies.clear()
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0], **OWN}


async def sees(site: Site, cookie: dict[str, str]) -> bool:
    answer = await site.ask("GET", "/operator/accounts", headers=cookie)
    return answer.status_code == 200


async def test_a_login_makes_no_keys_and_no_logins_and_its_key_does(site: Site) -> None:
    operator = await site.operator()
    cookie = await login(site, operator)
    for path, body in (
        ("/operator/keys", {"scope": "op"}),
        ("/operator/keys", {"scope": "aud", "handle": "arthur"}),
        ("/agents/me/rotate-key", None),
        ("/operator/login", None),
    ):
        refused = await site.ask("POST", path, headers=cookie, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden"), path
    page = await site.client.post("/login", headers=cookie, data={"key": ""})
    assert page.status_code == 401
    assert (await site.ask("POST", "/operator/keys", key=operator, json={"scope": "op"})).status_code == 201


@pytest.mark.parametrize("how", ["revoked", "rotated", "expired"])
async def test_a_login_ends_with_the_key_that_opened_it_and_no_other_does(site: Site, how: str) -> None:
    operator = await site.operator()
    given = (await site.ask("POST", "/operator/keys", key=operator, json={"scope": "op"})).json()
    mine, other = await login(site, given["key"]), await login(site, operator)
    assert await sees(site, mine)
    if how == "revoked":
        ended = await site.ask("DELETE", f"/agents/me/keys/{given['key_id']}", key=operator)
        assert ended.status_code == 200
    else:
        overlap = {"overlap_s": 60}
        assert (await site.ask("POST", "/agents/me/rotate-key", key=given["key"], json=overlap)).status_code == 201
        if how == "expired":
            await site.clock.advance_ms(60_000)
    assert not await sees(site, mine)
    assert await sees(site, other)


async def test_the_operator_lists_logins_and_ends_one(site: Site) -> None:
    operator = await site.operator()
    mine, other = await login(site, operator), await login(site, operator)
    listed = (await site.ask("GET", "/operator/sessions", key=operator)).json()["data"]
    assert len(listed) == 3, "the setup's own too"
    for one in listed:
        ended = await site.ask("DELETE", f"/operator/sessions/{one['session_id']}", key=operator)
        assert ended.json()["ended_at"] is not None
    assert [await sees(site, cookie) for cookie in (mine, other)] == [False, False]
    agent = await site.agent("maya_r", operator)
    assert (await site.ask("GET", "/operator/sessions", key=agent["live"])).status_code == 403


async def test_a_rotated_key_keeps_its_end_and_makes_nothing_more(site: Site) -> None:
    agent = await site.agent("maya_r", await site.operator())
    asked = {"scope": "live", "expires_in_s": 3_600}
    old = (await site.ask("POST", "/agents/me/keys", key=agent["live"], json=asked)).json()
    new = (await site.ask("POST", "/agents/me/rotate-key", key=old["key"])).json()
    assert (new["expires_at"], new["scope"]) == (old["expires_at"], "live")
    child = (await site.ask("POST", "/agents/me/keys", key=new["key"], json={"scope": "hb"})).json()
    assert child["expires_at"] == old["expires_at"], "no key makes one that outlives it"
    for method, path, body in (
        ("POST", "/agents/me/rotate-key", None),
        ("POST", "/agents/me/keys", {"scope": "live"}),
        ("DELETE", f"/agents/me/keys/{new['key_id']}", None),
    ):
        refused = await site.ask(method, path, key=old["key"], json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden"), path
    assert (await site.ask("GET", "/agents/me", key=old["key"])).status_code == 200
    assert (await site.ask("DELETE", f"/agents/me/keys/{old['key_id']}", key=old["key"])).status_code == 200


async def test_a_key_that_registers_moves_no_dollars_and_does_all_else(site: Site) -> None:
    people = await gathered(site)
    job_id, claim_id = await people.claimed()
    for who, step in (("ann", "cancel"), ("bob", "cancel")):
        assert await people.code(f"{who}.reg", "POST", f"/claims/{claim_id}/{step}") == "scope_forbidden"
    await people.ok("bob.reg", "POST", f"/claims/{claim_id}/start")
    await people.ok("bob.reg", "POST", f"/claims/{claim_id}/extend", {"extra_s": 3_600})
    assert await people.code("bob.reg", "POST", f"/claims/{claim_id}/evidence", RIGHT) == "scope_forbidden"
    await people.ok("bob.hb", "POST", f"/claims/{claim_id}/evidence", RIGHT)
    for path, body in (
        (f"/claims/{claim_id}/accept", None),
        (f"/claims/{claim_id}/decline", {"reason": "no", "criteria": ["C1"]}),
        (f"/jobs/{job_id}/review", {"approved": True, "reason": "fine"}),
    ):
        assert await people.code("ann.reg", "POST", path, body) == "scope_forbidden"
    await people.ok("ann.reg", "POST", f"/claims/{claim_id}/request-changes", {"reason": "no", "criteria": ["C1"]})
    await people.ok("bob", "POST", f"/claims/{claim_id}/evidence", RIGHT)
    await people.ok("ann", "POST", f"/claims/{claim_id}/accept")
    _, coins = await people.submitted(currency="AID")
    assert (await people.ok("ann.reg", "POST", f"/claims/{coins}/accept"))["state"] == "released"


async def test_another_key_is_no_further_quota(site: Site) -> None:
    people = await gathered(site)
    left = []
    for who in ("ann", "ann.hb", "ann.reg", "bob"):
        answer: httpx2.Response = await people.ask(who, "GET", "/agents/me")
        left.append(int(answer.headers["x-ratelimit-remaining"]))
    assert (left[1], left[2]) == (left[0] - 1, left[0] - 2)
    assert left[3] > left[2]


async def test_a_page_elsewhere_is_none_of_the_platforms_own_whatever_host_it_names(site: Site) -> None:
    cookie = await login(site, await site.operator())
    for headers in (
        {"Origin": "http://evil.example:8420", "Host": "evil.example:8420"},
        {"Origin": "", "Sec-Fetch-Site": "same-origin", "Host": "evil.example"},
    ):
        refused = await site.ask("POST", "/operator/logout", headers={**cookie, **headers})
        assert refused.json()["code"] == "cross_site"
    assert (await site.ask("POST", "/operator/logout", headers=cookie)).status_code == 200


async def test_a_body_of_countless_members_is_refused_unread_and_a_long_text_is_not(site: Site) -> None:
    many = b'{"handle": "maya_r", "x": [' + b"1," * 200_000 + b"1]}"
    headers = {"Content-Type": "application/json"}
    refused = await site.ask("POST", "/agents/register", content=many, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_json")
    assert "members" in refused.json()["detail"]
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    text = {"contract": "# Heartbeat\n\n" + ",[" * 50_000}
    taken = await site.ask("POST", "/agents/me/heartbeats", key=agent["live"], json=text)
    assert taken.status_code == 201, taken.text
