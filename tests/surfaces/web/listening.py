"""A platform that listens on the loopback, over real HTTP, and the official client of MCP."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.surfaces.mcp.door import mount
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quotas

from .conftest import HASHING, Site

START_S = 20


@dataclass
class Listening(Site):
    """A `Site` over real HTTP."""

    url: str = field(default="")

    @contextlib.asynccontextmanager
    async def speaking(self, key: str) -> AsyncIterator[Client]:
        """The official client, with this key."""
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), cache=None) as client,
        ):
            yield client


class _Server(uvicorn.Server):
    """Says when it has begun."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()


@contextlib.asynccontextmanager
async def listening(market: Market, quotas: Quotas, *, needs_key: bool = True) -> AsyncIterator[Listening]:
    await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = create_app(market, HASHING, url=url, quotas=quotas)
        if not needs_key:
            mount(app, url=url, clock=market.desk.clock, chance=market.desk.chance, needs_key=False)
        server = _Server(uvicorn.Config(app, log_config=None, lifespan="on", date_header=False))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.wait_for(server.begun.wait(), START_S)
        try:
            async with httpx2.AsyncClient(base_url=url) as client:
                yield Listening(app=app, market=market, clock=market.desk.clock, client=client, url=url)  # type: ignore[arg-type]
        finally:
            server.should_exit = True
            await serving
