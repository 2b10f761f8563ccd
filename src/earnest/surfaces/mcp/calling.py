"""Calls of a tool, answered by the platform's own REST routes: what they say is what the caller gets."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import httpx2
from mcp_types import CallToolResult, TextContent
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from earnest.effects.ground.clock import Chance, Clock
from earnest.foundation.errors import Refused
from earnest.surfaces.mcp.operations import HttpRequest, Operation
from earnest.surfaces.web.calls import KEY_HEADER
from earnest.surfaces.web.problems import problem

REFUSED: Final = 400


class Asker(NamedTuple):
    """Whoever sent a message: every header `Authorization` of it, and the address that it came from."""

    authorizations: tuple[str, ...] = ()
    address: str = ""

    @classmethod
    def of(cls, request: HTTPConnection) -> "Asker":
        """As the request says."""
        return cls(tuple(request.headers.getlist("authorization")), request.client.host if request.client else "")


class Rest:
    """The REST routes, asked in process in the name of whoever showed the key, and as if from their address."""

    def __init__(self, app: ASGIApp, url: str, clock: Clock, chance: Chance) -> None:
        self._app = app
        self._url = url
        self._clock = clock
        self._chance = chance

    async def ask(self, request: HttpRequest, asker: Asker) -> httpx2.Response:
        """What the route answers."""
        headers = [*request.headers.items(), *(("authorization", text) for text in asker.authorizations)]
        transport = httpx2.ASGITransport(app=self._app, raise_app_exceptions=False, client=(asker.address, 0))
        async with httpx2.AsyncClient(transport=transport, base_url=self._url, trust_env=False) as http:
            return await http.request(
                request.method, request.path, params=request.query or None, headers=headers, content=request.content
            )

    async def call(self, operation: Operation, arguments: Mapping[str, Any], asker: Asker) -> CallToolResult:
        """The answer of the operation's route; a problem is an error of the tool, with the same JSON.

        Without an `idempotency_key` the call has one of its own: it is done once, and a second call is another.
        """
        try:
            request = operation.request(arguments)
            if request.method != "GET" and KEY_HEADER not in request.headers:
                request = replace(request, headers={**request.headers, KEY_HEADER: self.new_id()})
            answer = await self.ask(request, asker)
        except (Refused, httpx2.InvalidURL) as error:
            code = error.code if isinstance(error, Refused) else "validation"
            said = problem(code, str(error), f"req_{self.new_id()}", operation.path)
            return _result(said.status_code, bytes(said.body))
        return _result(answer.status_code, answer.content)

    def new_id(self) -> str:
        """A new ULID."""
        return self._chance.new_id(self._clock.now_ms())


def _result(status: int, content: bytes) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=content.decode())],
        structured_content=json.loads(content),
        is_error=status >= REFUSED,
    )
