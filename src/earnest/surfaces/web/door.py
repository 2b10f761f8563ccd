"""The door: what happens to every request before a route sees it, and to every answer before it leaves.

The key is read, the limits are counted, the headers of market rulings a.1 and a.10 are added, and whatever goes wrong
becomes a problem.
"""

import logging
import traceback
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache, partial
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.instants import SECOND_MS
from earnest.identity.key import KEY_IN_TEXT, Caller, KeyedHash
from earnest.identity.key import Scope as KeyScope
from earnest.journal.notary import Notary
from earnest.runtime.authentication import Authenticator
from earnest.runtime.market.market import Market
from earnest.surfaces.web.calls import API, CALL, Call
from earnest.surfaces.web.home import HOME, LOOKS, HomePage
from earnest.surfaces.web.limits import Quotas, RateLimits, Share
from earnest.surfaces.web.metrics import RequestMetrics
from earnest.surfaces.web.refusing import maintenance
from earnest.surfaces.web.sessions import SESSION_COOKIE, is_loopback

EXPORT: Final = f"{API}/agents/me/export"
FORGET: Final = f"{API}/agents/me/forget"
REGISTER: Final = f"{API}/agents/register"
UNCOUNTED: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""What machines of the operator's ask. It has no limit, and looks at no key."""
MCP: Final = "/mcp"
"""Messages, which ask the routes themselves."""
RAW: Final = frozenset({f"{API}/artifacts"})
"""Where the route itself bounds the body, which it reads as it comes."""
BODY_BYTES_MAX: Final = 1024 * 1024
LENGTH_DIGITS: Final = 15
RETRY_S: Final = 5
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
IPV6_NETWORK_CHARACTERS: Final = 19
"""What the first 64 bits of an address take, written out."""
_LOG: Final = logging.getLogger("earnest.web")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the door works with. `url` is the platform's own address, without a slash at its end; `notary` signs."""

    market: Market
    authenticator: Authenticator
    limits: RateLimits
    quotas: Quotas
    metrics: RequestMetrics
    home: HomePage
    url: str
    notary: Notary | None


class Door:
    """An ASGI middleware around all routes."""

    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self.house = house
        self._date = (0, b"")
        self._stranger = lru_cache(maxsize=4_096)(partial(_stranger, house.authenticator.hashing))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or answer it."""
        if scope["type"] != "http" or scope["path"] == MCP:
            await self._app(scope, receive, send)
            return
        clock = self.house.market.desk.clock
        call, refused = await self._call(scope)
        scope[CALL] = call
        began_ns = clock.ticks_ns()
        share, refused = self._share(call, refused)
        passing = _Passing(self, call, share, send)
        try:
            if refused is not None:
                await call.refused(refused)(scope, receive, passing.send)
            elif call.path == HOME and call.method in LOOKS:
                await self.house.home.answer(call, passing.send)
            else:
                await self._app(scope, _bounded(call, receive), passing.send)
        except ClientDisconnect:  # nobody is there to be answered
            return
        except Exception as error:
            if passing.status:
                raise
            await self._failed(call, error)(scope, receive, passing.send)
        route = call.route or getattr(scope.get("route"), "path", "")
        key = (call.method, route, passing.status) if route else ("any", "unmatched", passing.status)
        requests, seconds = self.house.metrics.of[key]
        requests.inc()
        seconds.observe((clock.ticks_ns() - began_ns) / 1e9)

    async def _call(self, scope: Scope) -> tuple[Call, Refused | None]:
        """The call, and why it is refused at the door, if it is."""
        market, headers = self.house.market, Headers(scope=scope)
        now_ms = market.desk.clock.now_ms() // SECOND_MS * SECOND_MS
        call = Call(
            market=market,
            authenticator=self.house.authenticator,
            url=self.house.url,
            notary=self.house.notary,
            caller=None,
            request_id=f"req_{market.desk.chance.new_id(now_ms)}",
            method=scope["method"],
            path=scope["path"],
            headers=headers,
            address=scope["client"][0] if scope.get("client") else "",
            query=scope["query_string"].decode("latin-1"),
        )
        if call.path in UNCOUNTED:
            return call, None
        try:
            await self._identify(call, now_ms)
        except Refused as refused:
            call.wrong_key = refused
        except Unavailable:
            return call, Refused("maintenance", "the books cannot be read now", retry_after_s=RETRY_S)
        length = call.headers.get("content-length", "")
        is_long = length.isdigit() and (len(length) > LENGTH_DIGITS or int(length) > BODY_BYTES_MAX)
        return call, _too_large() if is_long and call.path not in RAW else None

    async def _identify(self, call: Call, now_ms: int) -> None:
        given = call.headers.getlist("authorization")
        if given:
            kind, _, text = given[0].partition(" ")
            if kind.lower() != "bearer" or len(given) > 1:  # of two, a proxy may have looked at the other
                raise Refused("unknown_key", "a key is shown as `Authorization: Bearer …`")
            call.caller = await self.house.authenticator.by_key(text.strip(), now_ms)
            return
        cookie = cookie_parser(call.headers.get("cookie", "")).get(SESSION_COOKIE)
        caller = await self._logged_in(cookie, now_ms) if cookie else None
        if caller is None or cookie is None:
            return
        if call.method not in SAFE and not _is_own_page(call.headers, self.house.url):
            raise Refused("cross_site", "a login does this from a page of the platform only; programs show a key")
        call.caller, call.session = caller, cookie

    async def _logged_in(self, cookie: str, now_ms: int) -> Caller | None:
        try:
            return await self.house.authenticator.by_session(cookie, now_ms)
        except Refused:
            return None

    def _share(self, call: Call, refused: Refused | None) -> tuple[Share | None, Refused | None]:
        """Count the request, also one that is refused for another reason."""
        if call.path in UNCOUNTED:
            return None, refused
        quotas = self.house.quotas
        if call.method in SAFE:
            quota = {HOME: quotas.home, EXPORT: quotas.export}.get(call.path, quotas.read)
        else:
            quota = {REGISTER: quotas.register, FORGET: quotas.export}.get(call.path, quotas.write)
        who = call.caller if quota.name != quotas.register.name else None
        subject = who.account.id if who is not None else self._stranger(call.address)
        share = self.house.limits.take(quota, subject)
        return share, refused if share.is_allowed else share.refusal()

    def _failed(self, call: Call, error: Exception) -> Response:
        if isinstance(error, Unavailable):
            error = maintenance(error)
        if isinstance(error, Refused):
            return call.refused(error)
        told = KEY_IN_TEXT.sub("ern_…", "".join(traceback.format_exception(error)))
        _LOG.error("%s %s %s\n%s", call.request_id, call.method, call.route, told)
        return call.problem("internal_error", f"this is a fault of ours; it is noted as {call.request_id}")

    def date(self, now_s: int) -> bytes:
        """The header Date; written once a second."""
        if self._date[0] != now_s:
            self._date = (now_s, formatdate(now_s, usegmt=True).encode())
        return self._date[1]


class _Passing:
    """One answer on its way out. `status` is 0 until it has begun."""

    def __init__(self, door: Door, call: Call, share: Share | None, send: Send) -> None:
        self._door = door
        self._call = call
        self._share = share
        self._send = send
        self.status = 0

    async def send(self, message: Message) -> None:
        """Add what every answer says."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._add(MutableHeaders(raw=message.setdefault("headers", [])))
            caller = self._call.caller
            is_act = caller is not None and caller.scope is KeyScope.HEARTBEAT and self._call.method not in LOOKS
            if is_act and 200 <= self.status < 300:
                self._door.house.home.acted(self._call)
        await self._send(message)

    def _add(self, headers: MutableHeaders) -> None:
        call, raw = self._call, headers.raw
        now_s = call.market.desk.clock.now_ms() // 1000
        limited = self._share.headers(now_s) if self._share is not None else ()
        raw.append((b"date", self._door.date(now_s)))
        raw.append((b"request-id", call.request_id.encode()))
        if call.market.terms.practice:
            raw.append((b"earnest-practice", b"1"))
        if "x-content-type-options" not in headers:
            raw.append((b"x-content-type-options", b"nosniff"))
        raw.extend(limited)
        if call.method in SAFE and call.path not in UNCOUNTED:
            raw.append((b"vary", b"Cookie" if call.session else b"Authorization"))
            if call.caller is not None and "cache-control" not in headers:
                raw.append((b"cache-control", b"private, no-cache"))


def _bounded(call: Call, receive: Receive) -> Receive:
    """The same body, as far as it may go."""
    if call.method in SAFE or call.path in RAW:
        return receive
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > BODY_BYTES_MAX:
            raise _too_large()
        return message

    return bounded


def _too_large() -> Refused:
    return Refused("too_large", f"a body has at most {BODY_BYTES_MAX} bytes")


def _stranger(hashing: KeyedHash, address: str) -> str:
    """Who asks without a key, as other servers may be told: no address stands in the books."""
    return hashing.digest("network", _network(address))


def _network(text: str) -> str:
    """An address; of an IPv6 one the network, of which somebody has as many addresses as they like."""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if not isinstance(address, IPv6Address):
        return text
    if address.ipv4_mapped is not None:  # as a proxy writes it that listens by both
        return str(address.ipv4_mapped)
    return address.exploded[:IPV6_NETWORK_CHARACTERS]


def _is_own_page(headers: Headers, url: str) -> bool:
    """True where a browser says that the request comes from a page at the platform's own address, by any of the
    loopback's names where that is one. What `Host` says is whatever name the browser was led here by.
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin" and _is_own(f"//{headers.get('host', '')}", url)
    return origin.partition("://")[0] == url.partition("://")[0] and _is_own(origin, url)


def _is_own(address: str, url: str) -> bool:
    """True for the same host and port."""
    own = urlsplit(url)
    try:
        found = urlsplit(address)
        host, port = found.hostname or "", found.port
    except ValueError:
        return False
    return port == own.port and (host == own.hostname or (is_loopback(host) and is_loopback(own.hostname or "")))
