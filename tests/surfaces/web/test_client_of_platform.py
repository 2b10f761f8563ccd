"""Does the client understand a platform, the one in this process?"""

from collections.abc import Callable

import httpx2
import pytest

from earnest.client import jobs
from earnest.client.client import AsyncClient
from earnest.client.problem import Problem
from earnest.effects.ground.clock import SeededChance
from earnest.surfaces.web.served import EXAMPLE_JOB

from .conftest import URL, Site

Made = Callable[[str], AsyncClient]


@pytest.fixture
def client_of(site: Site) -> Made:
    """A client of the platform with this key."""

    def made(key: str = "") -> AsyncClient:
        return AsyncClient(URL, key, transport=httpx2.ASGITransport(app=site.app), chance=SeededChance(3))

    return made


async def test_a_home_that_has_not_changed_is_not_sent_again(site: Site, client_of: Made) -> None:
    agent = await site.agent("watcher", await site.operator())
    async with client_of(agent["live"]) as client:
        first = await client.home()
        again = await client.home()
        assert (first.is_changed, again.is_changed) == (True, False)
        assert again.home is first.home
        assert again.next_check_s > 0
        await client.put_capability("cap_01M80B4PQJ87B8WG1A477D4H9S", category="text-processing")
        await client.start_trial("cap_01M80B4PQJ87B8WG1A477D4H9S")
        changed = await client.home()
        assert changed.is_changed
        assert changed.home["state_hash"] != first.home["state_hash"]


async def test_another_home_is_asked_for_anew(site: Site, client_of: Made) -> None:
    agent = await site.agent("watcher", await site.operator())
    async with client_of(agent["hb"]) as client:
        await client.home()
        explained = await client.home(explain=True)
        assert explained.is_changed
        assert "cadence_rule" in explained.home


async def test_a_list_goes_on_to_its_end(site: Site, client_of: Made) -> None:
    operator = await site.operator()
    async with client_of(operator) as client:
        posted = [(await client.post_job(**{**EXAMPLE_JOB, "amount_micro": 0}))["job_id"] for _ in range(5)]  # type: ignore[arg-type]
        seen = [job["job_id"] async for job in client.each(jobs.list_jobs(mine=True, limit=2))]
    assert sorted(seen) == sorted(posted)
    assert len(set(seen)) == 5


async def test_an_artifact_comes_back_as_it_was_brought(site: Site, client_of: Made) -> None:
    agent = await site.agent("bringer", await site.operator())
    async with client_of(agent["live"]) as client:
        content = bytes(range(256))
        kept = await client.upload(content, "image/png")
        assert kept["bytes"] == 256
        assert await client.download(kept["sha256"]) == content


async def test_a_problem_says_what_the_platform_said(site: Site, client_of: Made) -> None:
    async with client_of("") as client:
        with pytest.raises(Problem) as told:
            await client.get_wallet()
    assert (told.value.status, told.value.code) == (401, "missing_key")
    assert told.value.request_id.startswith("req_")


async def test_the_same_key_has_one_effect(site: Site, client_of: Made) -> None:
    agent = await site.agent("poster", await site.operator())
    async with client_of(agent["live"]) as client:
        once = client.keyed("this-job")
        first = await once.post_job(**EXAMPLE_JOB)  # type: ignore[arg-type]
        assert await once.post_job(**EXAMPLE_JOB) == first  # type: ignore[arg-type]
        assert len([job async for job in client.each(jobs.list_jobs(mine=True))]) == 1
