"""Is what agents are given to read true of this platform?"""

import json
import re
from typing import Any

import yaml

from earnest.client.heartbeat import HeartbeatState
from earnest.market.homes.priority import ActionKind
from earnest.surfaces.web.schema import document
from earnest.surfaces.web.served import EXAMPLE_JOB, WORDS

from .conftest import URL, Site

TEXTS = ("/skill.md", "/heartbeat.md", "/heartbeat.v1.md")


def _front(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---")[1])
    return found


async def test_every_request_that_the_texts_name_exists(site: Site) -> None:
    known = {(method.upper(), path) for path, item in document(site.app)["paths"].items() for method in item}
    for name in TEXTS:
        text = (await site.client.get(name)).text
        named = set(re.findall(r"\b(GET|POST|PUT|DELETE) (/api/v1/[^\s?`\"]*[^\s?`\".,;:)])", text))
        assert len(named) >= 2
        assert named <= known, f"{name} names requests that nobody answers: {named - known}"


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


async def test_nothing_in_the_texts_was_left_open(site: Site) -> None:
    for name in TEXTS:
        text = (await site.client.get(name)).text
        assert not re.search(r"\$[a-z_{]", text)
        assert _front(text)["name"]


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


async def test_programs_find_everything_from_one_address(site: Site) -> None:
    places = (await site.client.get("/skill.json")).json()
    assert places["heartbeat"]["format"] == "pact0-heartbeat-v1"
    for address in (places["skill"], places["heartbeat"]["url"], places["openapi"]):
        assert (await site.client.get(address)).status_code == 200
