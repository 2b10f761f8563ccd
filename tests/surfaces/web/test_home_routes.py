"""Home over HTTP: tags, looks, limits, what a heartbeat key leaves behind."""

import base64
import hashlib
import re
from typing import Any

import pytest
from pydantic import TypeAdapter

from earnest.client.payloads_home import Home
from earnest.foundation.canonical import canonical_bytes
from earnest.identity.service import PRESENCES
from earnest.runtime.market.presence import Presences
from earnest.surfaces.web import door
from earnest.surfaces.web.door import House
from earnest.surfaces.web.home import HOME as WHOLE
from earnest.surfaces.web.limits import Quota, Quotas

from .conftest import GENEROUS, Site
from .jobs import job_body

HOME = "/agents/me/home"


@pytest.fixture
async def agent(site: Site) -> dict[str, Any]:
    return await site.agent("worker", await site.operator())


def presences_of(site: Site) -> Presences:
    """Those of the page that the application answers looks by."""
    (house,) = [house for each in site.app.user_middleware if isinstance(house := each.kwargs.get("house"), House)]
    return house.home.presences


async def test_a_home_is_canonical_json_of_the_documented_form_with_its_tag_and_its_digest(
    site: Site, agent: dict[str, Any]
) -> None:
    answer = await site.ask("GET", HOME, key=agent["hb"])
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert TypeAdapter(Home).validate_python(shown)["your_account"]["handle"] == "worker"
    assert answer.content == canonical_bytes(shown)
    assert answer.headers["etag"] == f'W/"h1-{shown["state_hash"].removeprefix("sha256:")[:32]}"'
    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    assert answer.headers["content-digest"] == f"sha-256=:{digest}:"
    assert answer.headers["cache-control"] == "private, no-cache"
    assert answer.headers["vary"] == "Authorization"
    assert 60 <= int(answer.headers["next-check-in-after"]) <= 86_400 * 1.1


@pytest.mark.parametrize("shape", ["{tag}", '"{bare}"', '"other", {tag}', "*"])
async def test_a_known_tag_in_weak_comparison_is_answered_with_304_and_no_body(
    site: Site, agent: dict[str, Any], shape: str
) -> None:
    first = await site.ask("GET", HOME, key=agent["hb"])
    tag = first.headers["etag"]
    known = shape.format(tag=tag, bare=tag.removeprefix('W/"').removesuffix('"'))
    answer = await site.ask("GET", HOME, key=agent["hb"], headers={"If-None-Match": known})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == tag
    assert "next-check-in-after" in answer.headers
    stale = await site.ask("GET", HOME, key=agent["hb"], headers={"If-None-Match": 'W/"h1-0"'})
    assert stale.status_code == 200


async def test_a_look_and_a_304_count_as_check_ins_and_head_does_not(site: Site, agent: dict[str, Any]) -> None:
    presences = presences_of(site)
    head = await site.ask("HEAD", HOME, key=agent["hb"])
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 100
    assert await presences.seen_at_ms(agent["id"]) is None
    first = await site.ask("GET", HOME, key=agent["hb"])
    assert await presences.seen_at_ms(agent["id"]) == site.clock.now_ms()
    site.clock.jump_ms(60_000)
    known = {"If-None-Match": first.headers["etag"]}
    assert (await site.ask("GET", HOME, key=agent["hb"], headers=known)).status_code == 304
    assert await presences.seen_at_ms(agent["id"]) == site.clock.now_ms()


async def test_an_operator_has_a_home_and_is_not_watched(site: Site) -> None:
    operator = await site.operator()
    shown = (await site.ask("GET", HOME, key=operator)).json()
    assert await presences_of(site).seen_at_ms(shown["your_account"]["id"]) is None


async def test_a40_a_home_needs_a_key_and_every_valid_key_has_one(site: Site, agent: dict[str, Any]) -> None:
    for key, status, code in (("", 401, "missing_key"), ("ern_live_" + "0" * 43, 401, "unknown_key")):
        answer = await site.ask("GET", HOME, key=key)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    for scope in ("reg", "live", "hb"):
        assert (await site.ask("GET", HOME, key=agent[scope])).status_code == 200


async def test_a_suspended_agent_still_has_its_home(site: Site) -> None:
    operator = await site.operator()
    agent = await site.agent("worker", operator)
    assert (await site.ask("GET", HOME, key=agent["hb"])).json()["your_account"]["status"] == "identity_verified"
    done = await site.ask("POST", f"/operator/accounts/{agent['id']}/suspend", key=operator, json={"reason": "quarrel"})
    assert done.status_code == 200, done.text
    shown = (await site.ask("GET", HOME, key=agent["hb"])).json()
    assert shown["your_account"]["status"] == "suspended"
    assert shown["human_attention"][0]["code"] == "account_suspended"


@pytest.mark.parametrize(
    ("query", "code"),
    [("who=me", "unknown_field"), ("include=all", "validation"), ("explain=yes", "validation")],
)
async def test_a_query_that_nobody_knows_is_refused(site: Site, agent: dict[str, Any], query: str, code: str) -> None:
    answer = await site.ask("GET", f"{HOME}?{query}", key=agent["hb"])
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert answer.json()["errors"][0]["pointer"] == f"#/query/{query.partition('=')[0]}"


async def test_the_route_behind_the_door_answers_the_same(
    site: Site, agent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for query in ("", "?explain=1", "?include=buyer", "?include="):
        fast = await site.ask("GET", HOME + query, key=agent["hb"])
        with monkeypatch.context() as behind:
            behind.setattr(door, "HOME", "/elsewhere")
            slow = await site.ask("GET", HOME + query, key=agent["hb"])
        assert fast.content == slow.content
        ours = {
            "etag",
            "content-type",
            "content-length",
            "content-digest",
            "next-check-in-after",
            "cache-control",
            "vary",
        }
        assert {name: fast.headers[name] for name in ours} == {name: slow.headers[name] for name in ours}


class TestLimits:
    """A15: 120 in any 60 s for each account; 304s count."""

    @pytest.fixture
    def quotas(self) -> Quotas:
        return Quotas(home=Quota(name="home", count=3, window_s=60), write=GENEROUS.write, register=GENEROUS.register)

    async def test_looks_are_limited_for_each_account_and_known_ones_count(self, site: Site) -> None:
        operator = await site.operator()
        agent, other = await site.agent("worker", operator), await site.agent("other", operator)
        first = await site.ask("GET", HOME, key=agent["hb"])
        known = {"If-None-Match": first.headers["etag"]}
        for left in (1, 0):
            answer = await site.ask("GET", HOME, key=agent["hb"], headers=known)
            assert answer.status_code == 304
            assert answer.headers["ratelimit"].startswith(f'"home";r={left};')
        answer = await site.ask("GET", HOME, key=agent["hb"], headers=known)
        assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
        assert (await site.ask("GET", HOME, key=agent["live"])).status_code == 429
        assert (await site.ask("GET", HOME, key=other["live"])).status_code == 200


async def test_a39_what_a_heartbeat_key_does_is_its_last_action(site: Site, agent: dict[str, Any]) -> None:
    presences = presences_of(site)
    form = {"category": "code-generation", "task_class": "objective", "availability": {"max_concurrent": 1}}
    name = "cap_01J0000000AAAAAAAAAAAAAAAA"
    put = await site.ask("PUT", f"/agents/me/capabilities/{name}", key=agent["live"], json=form)
    assert put.status_code in {200, 201}, put.text
    shown = (await site.ask("GET", HOME, key=agent["hb"])).json()
    (action,) = shown["actions"]
    call = action["next_call"]
    begun = await site.ask(call["method"], call["path"], key=agent["hb"], json=call["body_example"])
    assert begun.status_code == 201, begun.text
    await presences.flush()
    row = site.market.desk.database.read_sync(lambda reader: PRESENCES.find(reader, agent["id"]))
    assert row.last_action == "POST /api/v1/agents/me/trials"
    refused = await site.ask("POST", "/agents/me/trials", key=agent["hb"], json=call["body_example"])
    assert refused.status_code == 409
    assert await presences.flush() == 0
    (running,) = (await site.ask("GET", HOME, key=agent["hb"])).json()["actions"]
    assert running["next_call"]["path"] == f"/api/v1/trials/{action['subject_id']}/answer"
    answered = await site.ask("POST", running["next_call"]["path"], key=agent["hb"], json={"answer": "no idea"})
    assert answered.status_code == 200, answered.text
    await presences.flush()
    row = site.market.desk.database.read_sync(lambda reader: PRESENCES.find(reader, agent["id"]))
    assert row.last_action == f"answered test job {action['subject_id']}"


PROPOSED = [
    ("post", "/api/v1/claims/x/evidence"),
    ("post", "/api/v1/claims/x/reviews"),
    ("post", "/api/v1/disputes/x/statements"),
    ("get", "/api/v1/disputes/x"),
    ("post", "/api/v1/trials/x/answer"),
    ("post", "/api/v1/agents/me/trials"),
    ("post", "/api/v1/jobs/x/applications"),
    ("post", "/api/v1/jobs/x/claim"),
]


@pytest.mark.parametrize("work_s", [60, 86_400, 80 * 86_400])
async def test_the_extension_that_a_home_names_is_granted(site: Site, work_s: int) -> None:
    operator_key = await site.operator()
    buyer, seller = [await site.agent(handle, operator_key) for handle in ("buyer", "seller")]
    free = job_body(amount_micro=0, auto_extend=True, work_s=work_s)
    posted = await site.ask("POST", "/jobs", key=buyer["live"], json=free)
    claimed = await site.ask("POST", f"/jobs/{posted.json()['job_id']}/claim", key=seller["hb"])
    (shown,) = (await site.ask("GET", "/agents/me/home", key=seller["hb"])).json()["open_claims"]
    path, body = f"/claims/{claimed.json()['claim_id']}/extend", {"extra_s": shown["extension"]["max_s"]}
    assert shown["extension"]["allowed"]
    assert (await site.ask("POST", path, key=seller["hb"], json=body)).json()["granted"]


@pytest.mark.slow
async def test_every_call_that_an_action_can_propose_is_a_documented_operation(site: Site) -> None:
    paths = (await site.client.get("/openapi.json")).json()["paths"]
    templates = {re.sub(r"{\w+}", "x", path): operations for path, operations in paths.items()}
    for method, path in PROPOSED:
        assert method in templates[path]
    assert "get" in paths[WHOLE]
