"""Clients of a platform: `Client` waits for answers, `AsyncClient` has them awaited.

Whatever changes something is sent under an Idempotency-Key, made for the call and kept on every retry: a request that
is sent again, because nobody knows whether the first arrived, has one effect.
"""

import asyncio
import copy
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeVar

import httpx2

from earnest.client.ask import API, Ask, as_json, get
from earnest.client.endpoints import Endpoints
from earnest.client.payloads import Page
from earnest.client.payloads_home import Home
from earnest.client.retrying import UNCHANGED, Patience, ReplyLost, answered
from earnest.effects.ground.clock import Chance, SystemChance, SystemClock
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.version import VERSION

T = TypeVar("T")

TIMEOUT_S: Final = 60.0
"""Posting a job may take so long: its checks are tried first."""

WAIT_S: Final = 1_800
"""Where the platform does not say when to look again."""
IDEMPOTENCY_KEY_MAX: Final = 255
_SAFE: Final = "GET"
_NEVER: Final = threading.Event()
"""Nobody sets it: to wait for it is to sleep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHome:
    """A home, as it was when it last changed. `next_check_s`: the platform's advice on when to look again."""

    home: Home
    is_changed: bool
    next_check_s: int


class _Looking:
    """The last home, by what was asked for: an unchanged one is not sent again."""

    def __init__(self) -> None:
        self._asked: tuple[str, bool] = "", False
        self._etag = ""
        self._home: Home | None = None

    def ask(self, include: str, *, explain: bool) -> Ask[httpx2.Response]:
        """What to send for this home."""
        if self._asked != (include, explain):
            self._asked, self._etag, self._home = (include, explain), "", None
        query = {"include": include or None, "explain": 1 if explain else None}
        return replace(
            get("/agents/me/home", query=query).with_headers(if_none_match=self._etag), read=lambda answer: answer
        )

    def seen(self, answer: httpx2.Response) -> LastHome:
        """What the answer shows. Raises `Unavailable` where that is no home."""
        is_changed = answer.status_code != UNCHANGED or self._home is None
        home = self._home
        if home is None or answer.status_code != UNCHANGED:
            home = self._home = as_json(answer)
            self._etag = answer.headers.get("etag", "")
        told = answer.headers.get("next-check-in-after", "")
        wait_s = int(told[:9]) if told.isascii() and told.isdigit() else WAIT_S
        return LastHome(home=home, is_changed=is_changed, next_check_s=wait_s)


class _Talk(Endpoints):
    """What both clients hold: address, key, patience, and the last home."""

    def __init__(self, url: str, key: str, patience: Patience, chance: Chance) -> None:
        if not _is_address(url):
            raise Refused("validation", f"the address of a platform is http(s)://HOST[:PORT], not {url[:200]!r}")
        if key and not _is_visible(key):
            raise Refused("validation", "the key holds a blank, a line break or what is no ASCII: no platform gave it")
        self.url = url.rstrip("/")
        self._key = key
        self._patience = patience
        self._chance = chance
        self._looking = _Looking()
        self.idempotency_key = ""

    def keyed(self, idempotency_key: str) -> Self:
        """The same client, for one change that must not happen twice even if this process dies: it has this key.

        Raises `Refused("validation")` for what is not 1 to 255 visible ASCII characters.
        """
        if not _is_visible(idempotency_key) or len(idempotency_key) > IDEMPOTENCY_KEY_MAX:
            raise Refused("validation", f"an Idempotency-Key is 1 to {IDEMPOTENCY_KEY_MAX} visible ASCII characters")
        same = copy.copy(self)
        same.idempotency_key = idempotency_key
        return same

    def _request(self, ask: Ask[Any]) -> httpx2.Request:
        headers = {"accept": "application/json", "user-agent": f"earnest/{VERSION}", **ask.headers}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        if ask.method != _SAFE:
            headers["idempotency-key"] = self.idempotency_key or self._chance.new_id(SystemClock().now_ms())
        query = {name: value for name, value in ask.query.items() if value is not None}
        url = f"{self.url}{API}{ask.path}"
        try:
            return httpx2.Request(ask.method, url, params=query or None, headers=headers, content=ask.content)
        except UnicodeError:
            raise Refused("validation", "a text of the request is no Unicode, or no ASCII in a header") from None


class Client(_Talk):
    """A platform, from a program that waits. `key` empty: only what needs none. Close it, or use it with `with`."""

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        transport: httpx2.BaseTransport | None = None,
        timeout_s: float = TIMEOUT_S,
        patience: Patience | None = None,
        chance: Chance | None = None,
        sleep: Callable[[float], object] = _NEVER.wait,
    ) -> None:
        super().__init__(url, key, patience or Patience(), chance or SystemChance())
        self._http = httpx2.Client(transport=transport, timeout=timeout_s)
        self._sleep = sleep

    def send(self, ask: Ask[T]) -> T:
        """The answer to one request. Raises `Problem` where it is refused, `Unavailable` where nobody answers."""
        request, attempt = self._request(ask), 0
        got = self._once(request)
        while (wait_ms := self._patience.wait_ms(got, attempt, self._chance.fraction())) is not None:
            self._sleep(wait_ms / 1000)
            got, attempt = self._once(request), attempt + 1
        return ask.read(answered(got))

    def each(self, ask: Ask[Page[T]]) -> Iterator[T]:
        """All of a list, page after page: `client.each(jobs.list_jobs(state="open"))`."""
        while True:
            page = _page(self.send(ask))
            yield from page["data"]
            if page["next_cursor"] is None:
                return
            ask = ask.after(page["next_cursor"])

    def home(self, *, include: str = "", explain: bool = False) -> LastHome:
        """One look at everything that concerns me. What has not changed is not sent again."""
        return self._looking.seen(self.send(self._looking.ask(include, explain=explain)))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _once(self, request: httpx2.Request) -> httpx2.Response | ReplyLost:
        try:
            return self._http.send(request)
        except httpx2.RequestError as error:
            return _lost(error)


class AsyncClient(_Talk):
    """A platform, from a program that does other things meanwhile. With `ASGITransport` in the same process."""

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        timeout_s: float = TIMEOUT_S,
        patience: Patience | None = None,
        chance: Chance | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(url, key, patience or Patience(), chance or SystemChance())
        self._http = httpx2.AsyncClient(transport=transport, timeout=timeout_s)
        self._sleep = sleep

    async def send(self, ask: Ask[T]) -> T:
        """See `Client.send`."""
        request, attempt = self._request(ask), 0
        got = await self._once(request)
        while (wait_ms := self._patience.wait_ms(got, attempt, self._chance.fraction())) is not None:
            await self._sleep(wait_ms / 1000)
            got, attempt = await self._once(request), attempt + 1
        return ask.read(answered(got))

    async def each(self, ask: Ask[Page[T]]) -> AsyncIterator[T]:
        """See `Client.each`."""
        while True:
            page = _page(await self.send(ask))
            for one in page["data"]:
                yield one
            if page["next_cursor"] is None:
                return
            ask = ask.after(page["next_cursor"])

    async def home(self, *, include: str = "", explain: bool = False) -> LastHome:
        """See `Client.home`."""
        return self._looking.seen(await self.send(self._looking.ask(include, explain=explain)))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _once(self, request: httpx2.Request) -> httpx2.Response | ReplyLost:
        try:
            return await self._http.send(request)
        except httpx2.RequestError as error:
            return _lost(error)


def _is_address(url: str) -> bool:
    """A scheme and a host that can be looked up, and nothing behind the path: that would swallow ours."""
    try:
        found = httpx2.URL(url)
        found.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):
        return False
    is_plain = not found.query and not found.fragment
    return url.startswith(("http://", "https://")) and bool(found.host) and is_plain


def _is_visible(text: str) -> bool:
    return bool(text) and all("!" <= character <= "~" for character in text)


def _page(found: Page[T]) -> Page[T]:
    """Raises `Unavailable` for an answer that is no page of a list."""
    if isinstance(found.get("data"), list) and "next_cursor" in found:
        return found
    raise Unavailable("what answered is no platform: its answer is no page of a list")


def _lost(error: httpx2.RequestError) -> ReplyLost:
    url = error.request.url
    where = f"{type(error).__name__} at {url.scheme}://{url.netloc.decode('ascii')}"
    return ReplyLost(f"{where}: {error}" if str(error) else where)
