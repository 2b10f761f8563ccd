"""Homes over HTTP, and what of a heartbeat is noted on the way.

Most requests of a platform ask for a home, and most of those are answered with what was ready. So the door asks
`HomePage.answer` before the routes: what FastAPI does for a request takes longer than this answer.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query, Request, Response
from starlette.types import Send

from earnest.client.payloads_home import Home
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.identity.account import AccountKind
from earnest.runtime.market.homes import Homes, Wanted
from earnest.runtime.market.market import Market
from earnest.runtime.market.presence import Presences
from earnest.surfaces.web.calls import Call, MyCall, is_known
from earnest.surfaces.web.log import NewestCheckpoint
from earnest.views.home import read_home

PATH: Final = "/agents/me/home"
HOME: Final = f"/api/v1{PATH}"
LOOKS: Final = frozenset({"GET", "HEAD"})
INCLUDES: Final[Mapping[str, tuple[bool, bool]]] = {
    "": (False, False),
    "jobs": (True, False),
    "buyer": (False, True),
    "jobs,buyer": (True, True),
    "buyer,jobs": (True, True),
}
"""By `include`: jobs that could be taken on, what the account owes as a buyer."""

DONE: Final = {
    "answer": "answered test job",
    "cancel": "cancelled",
    "claim": "claimed",
    "evidence": "submitted evidence on",
    "extend": "asked for more time for",
    "reviews": "reviewed",
    "start": "started",
    "statements": "made a statement in",
}
"""What was done, by the last word of the path; the word before it says to what (A39)."""

Headers = list[tuple[bytes, bytes]]

router = APIRouter(tags=["home"])
_KNOWN: Final[dict[int | str, dict[str, Any]]] = {304: {"description": "The state is as your If-None-Match says."}}


class Looked(NamedTuple):
    """An answer to a look. A HEAD has the headers of `body` without it."""

    status: int
    headers: Headers
    body: bytes


class HomePage:
    """Answers looks."""

    def __init__(self, market: Market, presences: Presences, checkpoint: NewestCheckpoint) -> None:
        self._market = market
        self._checkpoint = checkpoint
        self._homes = Homes(market.desk.database, market.terms, read_home)
        self.presences = presences

    async def look(
        self, call: Call, included: tuple[bool, bool] = INCLUDES["jobs,buyer"], explain: bool = False
    ) -> Looked:
        """The home of whoever asks, or that it is as they know it.

        Of an agent it counts as a look, also where it is as they know it; a HEAD does not. Raises
        `Refused("missing_key")`.
        """
        call.route = HOME
        account_id, is_agent = call.me.id, call.me.account.kind is AccountKind.AGENT
        wanted = Wanted(account_id, *included, explain)
        now_ms = self._market.desk.now_ms()
        ready = await self._homes.look(wanted, now_ms, await self.presences.seen_at_ms(account_id))
        next_ms = ready.next_check_ms(now_ms)
        headers = [
            (b"etag", ready.etag.encode()),
            (b"next-check-in-after", b"%d" % ((next_ms - now_ms) // SECOND_MS)),
            *await self._checkpoint.headers(now_ms),
        ]
        if call.method == "GET" and is_agent:
            self.presences.looked(account_id, now_ms, ready.expected_s)
        if is_known(call.headers.get("if-none-match"), ready.etag):
            return Looked(304, headers, b"")
        body = ready.body(next_ms)
        digest = base64.b64encode(hashlib.sha256(body).digest())
        headers += [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"content-digest", b"sha-256=:%s:" % digest),
        ]
        return Looked(200, headers, body if call.method == "GET" else b"")

    async def answer(self, call: Call, send: Send) -> None:
        """Answer a look. Raises `Refused`."""
        looked = await (self.look(call, *_asked(call.query)) if call.query else self.look(call))
        await send({"type": "http.response.start", "status": looked.status, "headers": looked.headers})
        await send({"type": "http.response.body", "body": looked.body})

    def acted(self, call: Call) -> None:
        """Note what was done with a heartbeat key."""
        words = call.path.rsplit("/", 2)
        done = f"{DONE[words[-1]]} {words[-2]}" if words[-1] in DONE else f"{call.method} {call.path}"
        self.presences.acted(call.me.id, done, call.market.desk.now_ms())


@router.get(PATH, response_model=Home, responses=_KNOWN)
async def get_home(
    request: Request,
    call: MyCall,
    include: Annotated[
        Literal["", "jobs", "buyer", "jobs,buyer", "buyer,jobs"], Query(description="Which optional parts.")
    ] = "jobs,buyer",
    explain: Annotated[Literal["0", "1"], Query(description="1: name the rule behind each action.")] = "0",
) -> Response:
    """All that an agent must know in one look: what it has, what it owes, what to do next, when to look again."""
    page: HomePage = request.app.state.home  # where the door has not answered
    looked = await page.look(call, INCLUDES[include], explain == "1")
    response = Response(looked.body, looked.status)
    response.raw_headers = looked.headers
    return response


def _asked(query: str) -> tuple[tuple[bool, bool], bool]:
    """What is to be included, and whether it is to be explained. Raises `Refused`: `validation`, `unknown_field`."""
    asked = {"include": "jobs,buyer", "explain": "0"}
    seen: set[str] = set()
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in asked:
            raise _fault(name, "unknown_field", "is no parameter of this")
        if name in seen:
            raise _fault(name, "validation", "given twice")
        seen.add(name)
        asked[name] = value
    included = INCLUDES.get(asked["include"])
    if included is None:
        raise _fault("include", "validation", "must be of jobs and buyer, with a comma between them")
    if asked["explain"] not in {"0", "1"}:
        raise _fault("explain", "validation", "must be 0 or 1")
    return included, asked["explain"] == "1"


def _fault(name: str, code: str, message: str) -> Refused:
    pointer = f"#/query/{name[:80]}"
    return Refused(code, f"{pointer}: {message}", errors=[{"pointer": pointer, "code": code, "detail": message}])
