"""Home over HTTP: tags, looks, limits, what a heartbeat key leaves behind."""

import base64
import hashlib
import json
from typing import Any

import pytest

from earnest.effects.clock import VirtualClock
from earnest.foundation.canonical import digest_of
from earnest.market.home import TAG
from earnest.surfaces.web.limits import Quota, Quotas

from .conftest import GENEROUS, Site

HOME = "/agents/me/home"


@pytest.fixture
async def agent(site: Site) -> dict[str, Any]:
    return await site.agent("worker", await site.operator())


async def test_a_home_has_a_tag_that_is_the_beginning_of_its_state_hash(site: Site, agent: dict[str, Any]) -> None:
    answer = await site.ask("GET", HOME, key=agent["hb"])
    assert answer.status_code == 200, answer.text
    body = answer.json()
    print(json.dumps(body, indent=1), answer.headers)
    assert answer.headers["etag"] == f'W/"{TAG}{body["state_hash"].removeprefix("sha256:")[:32]}"'
