"""Requests that have one effect and one answer, however often they are sent.

Answers are kept in the transaction of the effect (draft-ietf-httpapi-idempotency-key-header).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, Protocol, TypeAlias

from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.known_rows import Ahead, Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import Members, canonical_text, digest_of
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact
from earnest.foundation.instants import SECOND_MS
from earnest.identity.key import Caller

REQUEST_ANSWERED: Final = "request.answered"
"""A request that changed nothing, or was refused, and whose answer is kept."""

REPLIES_DROPPED: Final = "replies.dropped"
DROPPED_AT_ONCE: Final = 1_000
KEPT_MS: Final = 7 * 86_400_000
TWIN_WAIT_S: Final = 30
NOT_KEPT: Final = frozenset(
    {
        "missing_key",
        "unknown_key",
        "expired_key",
        "quota_exceeded",
        "decline_quota",
        "attempt_limit",
        "idempotency_in_progress",
        "idempotency_key_conflict",
        "maintenance",
        "verifier_unavailable",
    }
)
"""Refusals that another try may not meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """What an Idempotency-Key stands for: `route` is method and path template, `fingerprint` that of the request."""

    reply_id: str
    route: str
    fingerprint: str


def keyed_by(actor: str, route: str, key: str, fingerprint: str) -> Keyed:
    """One reply for each actor, route and key. An actor is a key of an account: another may do less."""
    return Keyed(reply_id=digest_of([actor, route, key]), route=route, fingerprint=fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """An answer, kept. `id` names actor, route and key, `fingerprint` the request; `body` is JSON text.

    No fact holds the answer, so its digest is kept with the fingerprint. Older versions made none.
    """

    id: str
    fingerprint: str
    status: int
    body: str
    at_ms: int


_REPLIES: Final = Rows(StoredReply, "replies")
_VALUES: Final = attrgetter(*_REPLIES.lookup.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryResponse:
    """What is sent back. `text`: the body as canonical JSON, where it was kept as it is; `refusal`: the code, where the
    rules said no; `replayed`: it was given before.
    """

    status: int
    body: Members
    text: str = ""
    refusal: str = ""
    replayed: bool = False


@dataclass(slots=True, kw_only=True)
class StoryContext:
    """What a story works with inside a transaction. `now_ms` is a whole second; `caller` None: nobody showed a key."""

    transaction: Transaction
    now_ms: int
    caller: Caller | None
    chance: Chance
    shown: dict[str, str] = field(default_factory=dict)
    left: list[tuple[str, str]] = field(default_factory=list)

    @property
    def me(self) -> Caller:
        """Who asks. Raises `Refused("missing_key")` where nobody showed a key."""
        if self.caller is None:
            raise Refused("missing_key", "this needs a key: send it as `Authorization: Bearer …`")
        return self.caller

    def new_id(self, prefix: str) -> str:
        """`<prefix>_<ULID>`."""
        drawn = f"{prefix}_{self.chance.new_id(self.now_ms)}"
        if (known := self.transaction.link.known) is not None:
            known.draw(drawn)
        return drawn

    def show_once(self, name: str, secret: str) -> None:
        """Put a secret into this answer, and into nothing that is kept: an answer given again holds null there."""
        self.shown[name] = secret

    def leave(self, kind: str, key: str) -> None:
        """Work that waits from now on: of which kind, and its id. Who takes it here need not look for it."""
        self.left.append((kind, key))


class Taker(Protocol):
    """Who does work of one kind in this process."""

    def take(self, transaction: Transaction, key: str, now_ms: int) -> bool:
        """Take it in the transaction that leaves it, which may run again; false if there is no room."""
        ...

    def begin(self, key: str) -> None:
        """What was taken stands in the books."""
        ...

    def drop(self, key: str) -> None:
        """It does not, or nobody knows."""
        ...


Act: TypeAlias = Callable[[StoryContext], Members]
"""The effect, in one transaction: a plain function that may run again. Its value is the body of the answer."""
Prepared: TypeAlias = tuple[Act, Ahead]
"""An act, and what it will look for."""


class Desk:
    """Where every change of the platform's books is asked for."""

    def __init__(self, database: Database, clock: Clock, chance: Chance) -> None:
        self.database = database
        self.clock = clock
        self.chance = chance
        self.takers: dict[str, Taker] = {}
        """By kind of work."""
        self._running: dict[str, asyncio.Future[None]] = {}

    def now_ms(self) -> int:
        """The present second."""
        return self.clock.now_ms() // SECOND_MS * SECOND_MS

    async def perform(
        self,
        caller: Caller | None,
        act: Act | None = None,
        *,
        keyed: Keyed | None = None,
        prepare: Callable[[], Awaitable[Prepared]] | None = None,
        status: int = 200,
        ahead: Ahead = (),
    ) -> StoryResponse:
        """Do it once and answer; a second request with the same key waits for the first and gets its answer.

        `prepare` is what cannot be done in a transaction (models, sandboxes, networks); it gives the act, and what that
        will look for besides `ahead`. What the rules refuse is raised as `Refused` where there is no key, else answered
        and kept. Raises `Refused`: `idempotency_key_conflict`, `idempotency_in_progress`, and what is never kept
        (`NOT_KEPT`).
        """
        if keyed is None:
            act, more = (act, ()) if prepare is None else await prepare()
            return await self._write(caller, act, None, status, (*ahead, *more))
        reply_id = keyed.reply_id
        while (running := self._running.get(reply_id)) is not None:
            await asyncio.wait([running], timeout=TWIN_WAIT_S)
            if not running.done():
                raise Refused("idempotency_in_progress", "the first request with this key is still at work")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running[reply_id] = turn
        try:
            if prepare is not None:
                kept = await self.database.ask(lambda reader: _kept(reader, keyed))
                if kept is not None:
                    return kept
                act, more = await prepare()
                ahead = (*ahead, *more)
            return await self._write(caller, act, keyed, status, ahead)
        except Refused as refused:
            if refused.code in NOT_KEPT:
                raise
            return await self._keep_refusal(caller, keyed, refused)
        finally:
            if self._running.get(reply_id) is turn:
                del self._running[reply_id]
            turn.set_result(None)

    async def tick(self, act: Act, ahead: Ahead = ()) -> Members:
        """What the clock does: in nobody's name, without a key. `ahead`: see `perform`."""
        return (await self._write(None, act, None, 200, ahead)).body

    async def forget_replies(self) -> int:
        """Drop the answers that are older than `KEPT_MS`; how many. A request that is sent again after that is new."""
        dropped = 0
        while True:
            before_ms = self.now_ms() - KEPT_MS

            def drop(transaction: Transaction, before_ms: int = before_ms) -> int:
                sql = "DELETE FROM replies WHERE id IN (SELECT id FROM replies WHERE at_ms < ? LIMIT ?)"
                count = transaction.execute(sql, (before_ms, DROPPED_AT_ONCE)).rowcount
                if count:
                    body = {"before_ms": before_ms, "count": count}
                    transaction.record(Fact(kind=REPLIES_DROPPED, subject="", at_ms=self.now_ms(), body=body))
                return count

            count = await self.database.write(drop)
            dropped += count
            if not count:
                return dropped

    def _write(
        self, caller: Caller | None, act: Act | None, keyed: Keyed | None, status: int, ahead: Ahead = ()
    ) -> Awaitable[StoryResponse]:
        now_ms = self.now_ms()
        taken: dict[str, Taker] = {}

        def write(transaction: Transaction) -> StoryResponse:
            if keyed is not None and (kept := _kept(transaction, keyed)) is not None:
                return kept
            entry = StoryContext(transaction=transaction, now_ms=now_ms, caller=caller, chance=self.chance)
            body = act(entry) if act is not None else {}
            for kind, key in entry.left:
                if (taker := self.takers.get(kind)) is not None and taker.take(transaction, key, now_ms):
                    taken[key] = taker
            text = _keep(entry, keyed, status, {**body, **dict.fromkeys(entry.shown)}) if keyed is not None else ""
            return StoryResponse(status=status, body={**body, **entry.shown}, text="" if entry.shown else text)

        if keyed is not None:
            ahead = (*ahead, Sought(lookup=_REPLIES.lookup, keys=(keyed.reply_id,), are_new=True))
        response = self.database.write(write, ahead=ahead)
        return _then_begun(response, taken) if self.takers else response

    async def _keep_refusal(self, caller: Caller | None, keyed: Keyed, refused: Refused) -> StoryResponse:
        body: Members = {"code": refused.code, "detail": str(refused), **refused.details}
        now_ms = self.now_ms()

        def write(transaction: Transaction) -> StoryResponse:
            entry = StoryContext(transaction=transaction, now_ms=now_ms, caller=caller, chance=self.chance)
            _keep(entry, keyed, 0, body)
            return StoryResponse(status=0, body=body, refusal=refused.code)

        return await self.database.write(write)


async def _then_begun(response: Awaitable[StoryResponse], taken: Mapping[str, Taker]) -> StoryResponse:
    """The response; what was taken meanwhile is begun with it."""
    try:
        given = await response
    except BaseException:
        for key, taker in taken.items():
            taker.drop(key)
        raise
    for key, taker in taken.items():
        taker.begin(key)
    return given


def _kept(reader: BooksReader, keyed: Keyed) -> StoryResponse | None:
    reply = _REPLIES.get(reader, keyed.reply_id)
    if reply is None:
        return None
    if (fingerprint := _given_fingerprint(reply)) is None:
        raise Broken(f"the answer that was kept as {reply.id} is not the one that was given")
    if fingerprint != keyed.fingerprint:
        raise Refused("idempotency_key_conflict", "this Idempotency-Key was used for another request")
    body = json.loads(reply.body)
    refusal = "" if reply.status else body["code"]
    return StoryResponse(status=reply.status, body=body, text=reply.body, refusal=refusal, replayed=True)


def _keep(entry: StoryContext, keyed: Keyed, status: int, body: Members) -> str:
    """Keep the answer, in the form that is returned. Status 0 stands for a refusal, whose code says which that is."""
    if not entry.transaction.has_recorded:
        actor = entry.caller.id if entry.caller else ""
        kept = {"route": keyed.route, "code": str(body.get("code", "")) if status == 0 else ""}
        entry.transaction.record(Fact(kind=REQUEST_ANSWERED, subject=actor, at_ms=entry.now_ms, body=kept))
    text = canonical_text(body)
    reply = StoredReply(id=keyed.reply_id, fingerprint=keyed.fingerprint, status=status, body=text, at_ms=entry.now_ms)
    digest = digest_of(_VALUES(reply))
    _REPLIES.add(entry.transaction, replace(reply, fingerprint=f"{keyed.fingerprint} {digest}"))
    return text


def altered_replies(reader: BooksReader) -> Iterator[str]:
    """The ids of kept answers that are not those that were given."""
    return (reply.id for reply in _REPLIES.where(reader, "1 = 1") if _given_fingerprint(reply) is None)


def _given_fingerprint(reply: StoredReply) -> str | None:
    """The fingerprint of its request; None where it is not the answer that was given."""
    fingerprint, _, digest = reply.fingerprint.rpartition(" ")
    if not fingerprint:
        return digest
    return fingerprint if digest == digest_of(_VALUES(replace(reply, fingerprint=fingerprint))) else None
