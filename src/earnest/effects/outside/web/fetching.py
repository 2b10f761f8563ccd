"""Pages fetched for strangers: each hop is checked, resolved once, and held to its address.

The standard library's client speaks to a socket that was opened here, to one address that was looked at: a name that
resolves differently the next time changes nothing.
"""

import asyncio
import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

from earnest.effects.ground.clock import Clock
from earnest.effects.outside.web.addresses import WebAddress, is_public, web_address
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused, Unavailable

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
REDIRECTS_MAX: Final = 5
CHUNK_BYTES: Final = 64 * 1024
ADDRESSES_TRIED_MAX: Final = 4

Resolve = Callable[[str, int], list[str]]
"""Host and port → addresses, in the order in which to try them. Raises `OSError`."""

Dial = Callable[[str, int, float], socket.socket]
"""Address, port and seconds → a connection. Raises `OSError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Bounds of one fetch, all its redirections included. `https_only`: on every hop.

    `hosts`: no hop leaves these hosts and their sub-domains; None: any public host. An empty one allows nothing.
    """

    deadline_ms: int = 30_000
    silence_ms: int = 10_000
    body_bytes: int = 4 * 1024 * 1024
    https_only: bool = False
    hosts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """What was at an address. `url` is the last of the redirections; `digest` is that of the body."""

    url: str
    status: int
    content_type: str
    body: bytes
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """What is asked for beside the address: GET, or POST of `content`, a form unless a header says what it is.

    A redirection is followed without any of it.
    """

    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def resolve(host: str, port: int) -> list[str]:
    """The system's answer."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def dial(address: str, port: int, seconds: float) -> socket.socket:
    """A TCP connection."""
    return socket.create_connection((address, port), timeout=seconds)


def is_within(host: str, hosts: Iterable[str]) -> bool:
    """True for one of these hosts, and for a sub-domain of one: by labels, never by substring."""
    return any(host == one or host.endswith(f".{one}") for one in hosts)


class Web:
    """The public web. `resolve` and `dial` are given in tests; the rules are not."""

    def __init__(
        self, clock: Clock, *, resolve: Resolve = resolve, dial: Dial = dial, trust: ssl.SSLContext | None = None
    ) -> None:
        self._clock = clock
        self._resolve = resolve
        self._dial = dial
        self._trust = trust

    async def fetch(
        self, url: str, *, limits: FetchLimits | None = None, request: FetchRequest | None = None
    ) -> FetchedPage:
        """The page at `url`, whatever its status. Cancelled, it closes its connection.

        Raises `Refused` (`url_refused`, `address_refused`, `page_refused`) for what may not be fetched, and
        `Unavailable` where nobody answers in time.
        """
        limits = limits or FetchLimits()
        visit = _Visit(self, self._clock, limits, request or FetchRequest())
        try:
            async with asyncio.timeout(limits.deadline_ms / 1000):
                return await asyncio.to_thread(visit.follow, url)
        except TimeoutError:
            raise Unavailable(f"{url}: did not answer within {limits.deadline_ms / 1000:g} s") from None
        finally:
            visit.abort()

    def connection(self, address: WebAddress, seconds: float) -> socket.socket:
        """A connection to one public address of the host, encrypted for https. Raises `Refused` and `OSError`."""
        literal = address.host.strip("[]")
        found = [literal] if _is_address(literal) else self._resolve(address.host, address.port)
        if not found or not all(is_public(each) for each in found):
            raise Refused("address_refused", f"{address.host} is not on the public internet")
        plain = self._first(found, address.port, seconds)
        if address.scheme == "http":
            return plain
        try:
            self._trust = self._trust or ssl.create_default_context()
            return self._trust.wrap_socket(plain, server_hostname=literal)
        except BaseException:
            plain.close()
            raise

    def _first(self, addresses: list[str], port: int, seconds: float) -> socket.socket:
        problem: OSError | None = None
        for each in addresses[:ADDRESSES_TRIED_MAX]:
            try:
                return self._dial(each, port, seconds)
            except OSError as error:
                problem = error
        raise problem or OSError("no address")


class _Visit:
    """One fetch, in a thread of its own; `abort` ends it from outside."""

    def __init__(self, web: Web, clock: Clock, limits: FetchLimits, request: FetchRequest) -> None:
        self._web = web
        self._clock = clock
        self._limits = limits
        self._request = request
        self._ends_ns = clock.ticks_ns() + limits.deadline_ms * 1_000_000
        self._open: socket.socket | None = None
        self._aborted = False

    def abort(self) -> None:
        self._aborted = True
        if self._open is not None:
            with contextlib.suppress(OSError):
                self._open.shutdown(socket.SHUT_RDWR)

    def follow(self, url: str) -> FetchedPage:
        for _ in range(REDIRECTS_MAX + 1):
            address = web_address(url)
            if self._limits.https_only and address.scheme != "https":
                raise Refused("url_refused", "only https:// is fetched here, also where it leads on")
            if self._limits.hosts is not None and not is_within(address.host, self._limits.hosts):
                raise Refused("url_refused", f"{address.host} is not among the hosts that may be fetched from")
            try:
                page, location = self._ask(address)
            except (OSError, http.client.HTTPException) as error:
                raise Unavailable(f"{address.host}: {_words(error)}") from None
            if location is None:
                return page
            url = _joined(address, location)
            self._request = FetchRequest()
        raise Refused("page_refused", f"more than {REDIRECTS_MAX} redirections")

    def _ask(self, address: WebAddress) -> tuple[FetchedPage, str | None]:
        with self._connected(address) as connection:
            content = self._request.content
            headers = {"User-Agent": "earnest", "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}
            if content is not None:
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request(
                "GET" if content is None else "POST",
                address.target,
                body=content,
                headers=headers | dict(self._request.headers),
            )
            answer = connection.getresponse()
            location = answer.getheader("Location") if answer.status in REDIRECTS else None
            body = b"" if location is not None else self._body(answer)
        page = FetchedPage(
            url=str(address),
            status=answer.status,
            content_type=answer.getheader("Content-Type", ""),
            body=body,
            digest=digest_bytes(body),
        )
        return page, location

    @contextlib.contextmanager
    def _connected(self, address: WebAddress) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection(address.host.strip("[]"), address.port)
        connection.sock = self._open = self._web.connection(address, self._patience_s())
        try:
            self._patience_s()
            yield connection
        finally:
            self._open = None
            connection.close()

    def _body(self, answer: http.client.HTTPResponse) -> bytes:
        if answer.getheader("Content-Encoding", "identity").lower() != "identity":
            raise Refused("page_refused", "the page came compressed, which was not asked for")
        parts: list[bytes] = []
        left = self._limits.body_bytes
        while part := answer.read1(min(CHUNK_BYTES, left + 1)):
            left -= len(part)
            if left < 0:
                raise Refused("page_refused", f"the page has more than {self._limits.body_bytes} bytes")
            parts.append(part)
            self._patience_s()
        if answer.length:
            raise http.client.IncompleteRead(b"", answer.length)
        return b"".join(parts)

    def _patience_s(self) -> float:
        """How long the next step may take; also set on the connection."""
        left_ms = (self._ends_ns - self._clock.ticks_ns()) // 1_000_000
        if left_ms <= 0 or self._aborted:
            raise TimeoutError
        seconds = min(left_ms, self._limits.silence_ms) / 1000
        if self._open is not None:
            self._open.settimeout(seconds)
        return seconds


def _joined(address: WebAddress, location: str) -> str:
    try:
        return urljoin(str(address), location)
    except ValueError as error:
        raise Refused("url_refused", f"{address.host} leads on to what is no URL: {error}") from None


def _is_address(text: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    except OSError:
        return False
    return True


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    if isinstance(error, ssl.SSLError):
        return f"cannot be trusted: {getattr(error, 'verify_message', '') or error.reason}"
    return f"cannot be read ({type(error).__name__}: {error})"
