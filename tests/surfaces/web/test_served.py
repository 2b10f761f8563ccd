"""Is what agents are given to read true of this platform?"""

import json
import re
from typing import Any

import pytest
import yaml

from earnest.client.heartbeat import HeartbeatState
from earnest.market.homes.priority import ActionKind
from earnest.runtime.market.judging import Judging
from earnest.surfaces.web.schema import document
from earnest.surfaces.web.served import EXAMPLE_JOB, WORDS

from .conftest import URL, Site

TEXTS = ("/skill.md", "/heartbeat.md", "/heartbeat.v1.md")


def _front(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---")[1])
    return found


@pytest.mark.slow
async def test_every_request_that_the_texts_name_exists(site: Site) -> None:
    known = {(method.upper(), path) for path, item in document(site.app)["paths"].items() for method in item}
    for name in TEXTS:
        text = (await site.client.get(name)).text
        named = set(re.findall(r"\b(GET|POST|PUT|DELETE) (/api/v1/[^\s?`\"]*[^\s?`\".,;:)])", text))
        assert len(named) >= 2
        assert named <= known, f"{name} names requests that nobody answers: {named - known}"


@pytest.mark.slow
async def test_every_address_that_the_texts_name_is_answered(site: Site) -> None:
    for name in TEXTS:
        text = (await site.client.get(name)).text
        for address in set(re.findall(rf"{re.escape(URL)}(/[\w./-]*\w)", text)) - {"/mcp", "/api/v1"}:
            assert (await site.client.get(address)).status_code == 200, f"{name} names {address}"


async def test_a_heartbeat_is_recognised_by_its_format(site: Site) -> None:
    for name in ("/heartbeat.md", "/heartbeat.v1.md"):
        answer = await site.client.get(name)
        assert answer.headers["content-type"].startswith("text/markdown")
        front = _front(answer.text)
        assert front["format"] == "pact0-heartbeat-v1"
        assert front["api_base"] == f"{URL}/api/v1"


@pytest.mark.slow
async def test_nothing_in_the_texts_was_left_open(site: Site) -> None:
    for name in TEXTS:
        text = (await site.client.get(name)).text
        assert not re.search(r"\$[a-z_{]", text)
        assert _front(text)["name"]


@pytest.mark.slow
async def test_the_limits_and_the_money_in_the_texts_are_those_in_force(site: Site) -> None:
    skill = (await site.client.get("/skill.md")).text
    limits = (await site.client.get("/api/v1/meta/limits")).json()
    for quota in limits["quotas"]:
        assert f"`{quota['name']}` {quota['count']} in {quota['window_s']} s" in skill
    heartbeat = (await site.client.get("/heartbeat.md")).text
    home = next(quota for quota in limits["quotas"] if quota["name"] == "home")
    assert f"The limit is {home['count']} requests in {home['window_s']} seconds" in heartbeat
    fees = (await site.client.get("/api/v1/meta/fees")).json()["currencies"]
    assert f"In USD {fees['USD']['fee_bps'] / 100:g} % of a reward" in skill


@pytest.mark.slow
async def test_the_job_in_the_text_is_one_that_is_taken(site: Site) -> None:
    agent = await site.agent("writer", await site.operator())
    skill = (await site.client.get("/skill.md")).text
    shown = json.loads(re.findall(r"```json\n(.*?)```", skill, re.S)[0])
    assert shown == EXAMPLE_JOB
    posted = await site.ask("POST", "/jobs", key=agent["live"], json=shown)
    assert posted.status_code == 201, posted.text


async def test_every_class_of_action_is_explained_in_order(site: Site) -> None:
    text = (await site.client.get("/heartbeat.md")).text
    assert re.findall(r"^\d\. `(\w+)`:", text, re.M) == [kind.value for kind in ActionKind]
    assert set(WORDS) == set(ActionKind)


async def test_the_state_file_in_the_text_is_the_one_that_the_client_keeps(site: Site) -> None:
    text = (await site.client.get("/heartbeat.md")).text
    shown = json.loads(re.findall(r"```json\n(.*?)```", text, re.S)[0])
    kept = {name.removesuffix("_ms") for name in HeartbeatState.__dataclass_fields__}
    assert set(shown) == kept


@pytest.mark.slow
async def test_programs_find_everything_from_one_address(site: Site) -> None:
    places = (await site.client.get("/skill.json")).json()
    assert places["heartbeat"]["format"] == "pact0-heartbeat-v1"
    for address in (places["skill"], places["heartbeat"]["url"], places["openapi"]):
        assert (await site.client.get(address)).status_code == 200


def _shown_requests(text: str) -> list[tuple[str, str, Any]]:
    """Method, path and body of each `http` block, in order."""
    blocks = re.findall(r"^ *```http\n(.*?)^ *```", text, re.M | re.S)
    found = []
    for block in blocks:
        line, _, body = block.strip().partition("\n")
        method, path = line.split()
        found.append((method, path, json.loads(body) if body.strip() else None))
    return found


@pytest.mark.slow
async def test_who_knows_nothing_but_the_skill_is_paid_after_eight_requests(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    skill = (await site.client.get("/skill.md")).text
    posted = await site.ask("POST", "/jobs", key=buyer["live"], json=EXAMPLE_JOB)
    assert posted.status_code == 201, posted.text
    register, live, declare, home, look, claim, hand_in, verdict, *_ = _shown_requests(skill)

    async def send(request: tuple[str, str, Any], key: str = "", **said: Any) -> Any:
        method, path, body = request
        text = re.sub(r"<([^>]+)>", lambda found: said[found[1]], json.dumps([path.format(**said), body]))
        path, body = json.loads(text)
        answer = await site.ask(method, path, key=key, **({} if body is None else {"json": body}))
        assert answer.status_code in {200, 201, 202}, f"{method} {path}: {answer.text}"
        return answer.json()

    me = await send(register, **{"3 to 32 of a-z, 0-9 and _": "mara"})
    owned = {"secret": me["claim_url"].rpartition("/")[2], "mail": "mara@example.org"}
    assert (await site.ask("POST", "/operator/agents", key=operator, json=owned)).status_code == 200
    key = (await send(live, me["key"]))["key"]
    capability_id = me["id"].replace("act_", "cap_")
    (first,) = (await send(home, key))["actions"]
    assert first["kind"] == "declare"
    method, path, body = first["next_call"]["method"], first["next_call"]["path"], first["next_call"]["body_example"]
    assert (method, path, body) == (declare[0], declare[1].format(capability_id=capability_id), declare[2])
    await send(declare, key, capability_id=capability_id)
    (found,) = (await send(home, key))["matching_jobs"]
    job = await send(look, key, job_id=found["job_id"])
    claim_id = (await send(claim, key, job_id=job["job_id"]))["claim_id"]
    assert hand_in[2]["items"][0]["inline"] == "<what you made>"
    hand_in[2]["items"][0]["inline"] = ["red", "green", "blue"]
    await send(hand_in, key, claim_id=claim_id, id=job["evidence_requirements"][0]["id"])
    await Judging(site.market).drain()
    assert (await send(verdict, key, claim_id=claim_id))["state"] == "released"
    assert (await send(("GET", "/api/v1/wallet", None), key))["balances"]
