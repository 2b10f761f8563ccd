"""A platform in process: its application over a temporary database, with the test's clock."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.identity.key import LINK_MS, KeyedHash, operator_link
from earnest.journal.notary import Notary
from earnest.journal.signing import LOG, WITNESS, PrivateKey
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.surfaces.mcp import door
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.surfaces.web.schema import document
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

START_MS = 1_780_000_000_000
HASHING = KeyedHash(bytes(range(32)))
WITNESS_KEY = PrivateKey(name="witness.example", type=WITNESS, seed=bytes(32))
LOG_KEY = PrivateKey(name="platform.example", type=LOG, seed=bytes(range(32)))
NOTARY = Notary(key=LOG_KEY, witnesses=(WITNESS_KEY.public,))
URL = "http://127.0.0.1:8420"
API = "/api/v1"
GENEROUS = Quotas(
    home=Quota(name="home", count=100_000, window_s=60),
    read=Quota(name="read", count=100_000, window_s=60),
    write=Quota(name="write", count=100_000, window_s=60),
    register=Quota(name="register", count=100_000, window_s=3_600),
    export=Quota(name="export", count=100_000, window_s=3_600),
)


@dataclass
class Site:
    """The application, and somebody who asks it."""

    app: FastAPI
    market: Market
    clock: VirtualClock
    client: httpx2.AsyncClient
    asked: int = field(default=0)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        **given: Any,
    ) -> httpx2.Response:
        """One request below /api/v1; a POST has an Idempotency-Key of its own unless one is given."""
        self.asked += 1
        sent = {"Authorization": f"Bearer {key}"} if key else {}
        if method == "POST":
            sent["Idempotency-Key"] = f"k{self.asked}"
        sent.update(headers or {})
        whole = path if not path.startswith("/") or path.startswith(("/api", "http")) else API + path
        return await self.client.request(method, whole, headers=sent, **given)

    async def register(self, handle: str) -> dict[str, Any]:
        """A new agent: what registering answers."""
        answer = await self.ask("POST", "/agents/register", json={"handle": handle})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def operator_link(self) -> str:
        """A one-time secret for the operator."""
        now_ms = self.clock.now_ms()
        return operator_link(HASHING, self.market.desk.chance.new_id(now_ms), now_ms + LINK_MS)

    async def operator(self, handle: str = "olga") -> str:
        """The operator's key; the account is made by the link."""
        page = await self.client.post(f"/setup/{self.operator_link()}", data={"handle": handle})
        assert page.status_code == 200, page.text
        self.client.cookies.clear()
        return page.text.split("<code>")[1].split("</code>")[0]

    async def agent(self, handle: str, operator_key: str) -> dict[str, Any]:
        """An agent that the operator owns: `id`, `reg`, `live`, `hb` keys."""
        registered = await self.register(handle)
        secret = registered["claim_url"].rpartition("/")[2]
        body = {"secret": secret, "mail": f"{handle}@example.org"}
        owned = await self.ask("POST", "/operator/agents", key=operator_key, json=body)
        assert owned.status_code == 200, owned.text
        keys = {}
        for scope in ("live", "hb"):
            given = await self.ask("POST", "/agents/me/keys", key=registered["key"], json={"scope": scope})
            assert given.status_code == 201, given.text
            keys[scope] = given.json()["key"]
        return {"id": registered["id"], "reg": registered["key"], **keys}


@pytest.fixture(scope="session", autouse=True)
def _tools_that_are_read_once() -> Iterator[None]:
    """The tools of `/mcp` are made of the document, which applications with the same routes have alike."""
    known: dict[tuple[str, ...], dict[str, Any]] = {}

    def document_of(app: FastAPI) -> dict[str, Any]:
        paths = tuple(getattr(route, "path", "") for route in app.routes)
        if paths not in known:
            known[paths] = document(app)
        return known[paths]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "document", document_of)
        yield


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START_MS)


@pytest.fixture
def market(tmp_path: Path, clock: VirtualClock) -> Iterator[Market]:
    with contextlib.closing(Database.open(tmp_path / "books.sqlite", clock)) as database:
        registry, terms = Registry(), Terms()
        yield Market(
            desk=Desk(database, clock, SeededChance(7)),
            terms=terms,
            verifier=Verifier(registry=registry, sandbox=None, clock=clock),
            registry=registry,
            artifacts=ArtifactStore(tmp_path / "artifacts"),
            web=Web(clock),
        )


@pytest.fixture
def quotas() -> Quotas:
    """What a test may replace by stricter ones."""
    return GENEROUS


@pytest.fixture
async def site(market: Market, clock: VirtualClock, quotas: Quotas) -> AsyncIterator[Site]:
    await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
    app = create_app(market, HASHING, url=URL, quotas=quotas, notary=NOTARY)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=URL) as client:
        yield Site(app=app, market=market, clock=clock, client=client)
