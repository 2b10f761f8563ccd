"""The dashboard of a data directory: for whoever has its address on this machine, and for nobody else."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from earnest.app import places
from earnest.app.settings import read_settings
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import ReadPool
from earnest.surfaces.dashboard.local import local_app
from surfaces.web.conftest import START_MS

SECRET = "s" * 43
PAGES = ("/", "/runs", "/audit", "/memory", "/jobs", "/agents", "/ledger", "/charts/verdicts/all.csv")


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx2.AsyncClient]:
    monkeypatch.setenv("EARNEST_HOME", str(tmp_path))
    clock, settings = VirtualClock(START_MS), read_settings()
    Database.open(places.books(settings.home), clock).close()
    with contextlib.closing(ReadPool.open_reader(places.books(settings.home))) as books:
        transport = httpx2.ASGITransport(app=local_app(books, settings, clock, SECRET))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8421") as client:
            yield client


async def test_nothing_is_shown_without_the_address(client: httpx2.AsyncClient) -> None:
    for path in (*PAGES, "/live", "/?secret=wrong", "/?secret=%C3%A9"):
        assert (await client.get(path)).status_code == 403, path
    client.cookies.set("earnest_local_8421", "wrong")
    assert (await client.get("/")).status_code == 403


async def test_the_address_opens_every_page_and_none_of_them_acts(client: httpx2.AsyncClient) -> None:
    opened = await client.get(f"/runs?secret={SECRET}")
    assert (opened.status_code, opened.headers["location"]) == (303, "/runs")
    assert all(word in opened.headers["set-cookie"] for word in ("HttpOnly", "SameSite=strict"))
    for path in PAGES:
        answer = await client.get(path)
        assert answer.status_code == 200, path
        assert "data-call" not in answer.text
    assert (await client.get("/runs/run_none")).status_code == 404
    assert (await client.get("/nothing")).status_code == 404
    assert (await client.post("/")).status_code == 405


async def test_two_dashboards_on_one_machine_do_not_shut_each_other_out(client: httpx2.AsyncClient) -> None:
    await client.get(f"/?secret={SECRET}")
    client.cookies.set("earnest_local_8422", "that of another")
    assert (await client.get("/")).status_code == 200


async def test_a_name_of_another_site_that_leads_here_is_refused(client: httpx2.AsyncClient) -> None:
    await client.get(f"/?secret={SECRET}")
    for host in ("evil.example", "evil.example:8421", "127.0.0.1.evil.example", "", "["):
        assert (await client.get("/", headers={"Host": host})).status_code == 403, host
