"""Homes, kept so that each is not read anew whenever it is asked for.

What was built stays right until a fact touches the account or a kind of work that it does, or a boundary is crossed.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.market.homes.cadence import HeartbeatHealth, LookPace, health, next_check_ms
from earnest.market.homes.given import HomeInput
from earnest.market.homes.home import build
from earnest.market.terms import Terms

KEPT_BYTES_MAX: Final = 64 * 1024 * 1024
ENTRY_BYTES: Final = 1_024
"""What an entry takes beside its body, roughly."""

_NEXT: Final = b'"next_check_in_after":"'
"""Inside a string of JSON its quotation marks would be escaped: it stands in a body once."""


class ReadHome(Protocol):
    """`views.home.read_home`."""

    def __call__(
        self, reader: BooksReader, account_id: str, now_ms: int, *, with_jobs: bool, as_buyer: bool
    ) -> HomeInput:
        """What is known of somebody at this moment."""


class Wanted(NamedTuple):
    """Which home: whose, and what of it."""

    account_id: str
    with_jobs: bool = True
    as_buyer: bool = True
    explain: bool = False


@dataclass(slots=True, kw_only=True)
class ReadyHome:
    """A home as bytes. `before` and `after` stand around the one instant that differs from look to look.

    It was read when fact `touched` was the newest that concerned `subjects`; at the last look the newest of all was
    `seq`. It is right from `built_at_ms` until before `valid_until_ms`, for whoever is found in health `health`.
    """

    wanted: Wanted
    before: bytes
    after: bytes
    etag: str
    subjects: tuple[str, ...]
    touched: int
    seq: int
    built_at_ms: int
    valid_until_ms: int
    boundary_ms: int | None
    pace: LookPace
    expected_s: int
    health: HeartbeatHealth

    def next_check_ms(self, now_ms: int) -> int:
        """When to look again, if one has looked now."""
        return next_check_ms(self.wanted.account_id, self.pace, self.boundary_ms, now_ms)

    def body(self, next_ms: int) -> bytes:
        """The JSON text, with the instant at which to look again."""
        return b"".join((self.before, rfc3339_s(next_ms).encode(), self.after))

    @property
    def size_bytes(self) -> int:
        """What it takes of the memory for all."""
        return len(self.before) + len(self.after) + ENTRY_BYTES


class Homes:
    """The homes that were asked for last."""

    def __init__(self, database: Database, terms: Terms, read: ReadHome) -> None:
        self._database = database
        self._terms = terms
        self._read = read
        self._kept: OrderedDict[Wanted, ReadyHome] = OrderedDict()
        self._kept_bytes = 0

    async def look(self, wanted: Wanted, now_ms: int, seen_at_ms: int | None) -> ReadyHome:
        """The home as it is now, of somebody who was last seen at `seen_at_ms`. Raises `Refused("not_found")`."""
        newest = self._database.last_seq
        ready = self._kept.get(wanted)
        if ready is None or not await self._still_holds(ready, now_ms, seen_at_ms, newest):
            ready = await self._database.ask(lambda reader: self._build(reader, wanted, now_ms, seen_at_ms, newest))
            self._keep(ready)
        else:
            self._kept.move_to_end(wanted)
        return ready

    async def _still_holds(self, ready: ReadyHome, now_ms: int, seen_at_ms: int | None, newest: int) -> bool:
        """True until its time is over or a fact concerns it: at most one read by index."""
        if not ready.built_at_ms <= now_ms < ready.valid_until_ms:
            return False
        if seen_at_ms is not None and ready.health is not health((now_ms - seen_at_ms) // SECOND_MS, ready.expected_s):
            return False
        if ready.seq != newest:
            if await self._database.ask(lambda reader: reader.touched(*ready.subjects)) != ready.touched:
                return False
            ready.seq = newest
        return True

    def _build(
        self, reader: BooksReader, wanted: Wanted, now_ms: int, seen_at_ms: int | None, newest: int
    ) -> ReadyHome:
        read = self._read(reader, wanted.account_id, now_ms, with_jobs=wanted.with_jobs, as_buyer=wanted.as_buyer)
        if seen_at_ms is not None:
            read = replace(read, seen_at_ms=seen_at_ms)
        home = build(read, now_ms, self._terms, explain=wanted.explain)
        before, mark, rest = canonical_bytes(home.body).partition(_NEXT)
        return ReadyHome(
            wanted=wanted,
            before=before + mark,
            after=rest[rest.index(b'"') :],
            etag=home.etag,
            subjects=read.subjects,
            touched=reader.touched(*read.subjects),
            seq=newest,
            built_at_ms=now_ms,
            valid_until_ms=home.valid_until_ms,
            boundary_ms=home.boundary_ms,
            pace=home.pace,
            expected_s=home.expected_s,
            health=home.health,
        )

    def _keep(self, ready: ReadyHome) -> None:
        """Keep it in the place of the one before; those that nobody has asked for longest make room."""
        old = self._kept.pop(ready.wanted, None)
        self._kept_bytes += ready.size_bytes - (old.size_bytes if old is not None else 0)
        self._kept[ready.wanted] = ready
        while self._kept_bytes > KEPT_BYTES_MAX and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._kept_bytes -= gone.size_bytes
