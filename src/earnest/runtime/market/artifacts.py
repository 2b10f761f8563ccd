"""Owners and readers of the bytes in the store of artifacts."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from earnest.client.payloads import Artifact as ArtifactShown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.outside.artifacts.store import ArtifactLimits, Stored
from earnest.foundation.errors import Refused, Unavailable
from earnest.identity.key import Caller, Scope
from earnest.market.claims.evidence import Artifact, artifact_id
from earnest.market.service import ARTIFACTS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.market import Market

ANY_MEDIA_TYPE: Final = "application/octet-stream"
BRINGERS: Final = (Scope.LIVE, Scope.HEARTBEAT, Scope.OPERATOR)
"""The keys that bring artifacts on their own; evidence and offers bring theirs by their own rules."""
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}", re.ASCII)
_BROUGHT: Final = "SELECT coalesce(max(brought_bytes), 0) FROM artifacts WHERE account_id = ?"
_NAMES: Final = "SELECT DISTINCT sha256 FROM artifacts WHERE sha256 >= ? AND sha256 < ?"
_IN_EVIDENCE: Final = """
SELECT s.manifest FROM artifacts a
JOIN claims c ON c.seller = a.account_id
JOIN submissions s ON s.claim_id = c.id
WHERE a.sha256 = :sha256 AND c.buyer = :reader AND replace(s.manifest, a.sha256, '') <> s.manifest
"""
_IN_DISPUTE: Final = """
SELECT s.evidence FROM artifacts a
JOIN statements s ON s.author = a.account_id
JOIN disputes d ON d.id = s.dispute_id
WHERE a.sha256 = :sha256 AND :reader IN (d.raiser, d.respondent) AND replace(s.evidence, a.sha256, '') <> s.evidence
"""
"""Lists in which the digest stands, be it as that of an item or in a text beside it."""


def media_type_of(header: str) -> str:
    """The media type of a Content-Type, without parameters. Raises `Refused("unsupported_media")` for what is none."""
    media_type = header.partition(";")[0].strip().lower() or ANY_MEDIA_TYPE
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise Refused("unsupported_media", "Content-Type must be a media type, as application/json")
    return media_type


@asynccontextmanager
async def room_for(market: Market, account_id: str, size_bytes: int) -> AsyncIterator[int]:
    """Room for something of at most `size_bytes` that an account sends: how long it may be, laid aside meanwhile.

    What would never be kept is so neither taken in nor fetched. Raises `Refused("limit_reached")` where the account has
    brought, or brings just now, all that one may.
    """
    store = market.artifacts
    brought = await market.desk.database.ask(lambda reader: _brought_bytes(reader, account_id))
    with store.expecting(account_id, store.limits.owner_bytes - brought, size_bytes) as expected:
        yield expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringing:
    """What an account brings with one request: until that is answered its room stays laid aside, and its bytes lie."""

    market: Market
    account_id: str
    rooms: AsyncExitStack
    held: list[str] = field(default_factory=list)

    async def put(self, content: bytes | AsyncIterator[bytes], size_bytes: int) -> Stored:
        """Store something of at most `size_bytes`. Raises as `room_for` and the store do."""
        room = await self.rooms.enter_async_context(room_for(self.market, self.account_id, size_bytes))
        return await self.market.artifacts.put(content, room, held=self.held)


@asynccontextmanager
async def bringing(market: Market, account_id: str) -> AsyncIterator[Bringing]:
    """Around a request from its first byte to its answer: what it brought and nobody then names is removed.

    Where something broke on the way, the books may yet come to name it: it is left to `collect_artifacts`.
    """
    store, named = market.artifacts, _named(market)
    if not market.desk.database.is_near:  # nobody's event loop waits for a server: the sweep asks
        named = _unknown
    async with AsyncExitStack() as rooms:
        brought = Bringing(market=market, account_id=account_id, rooms=rooms)
        try:
            yield brought
        except Refused:
            store.let_go(brought.held, named)
            raise
        except BaseException:
            store.doubt(brought.held)
            raise
        store.let_go(brought.held, named)


async def collect_artifacts(market: Market) -> int:
    """Remove what crashes and broken requests left in the store, and nobody has brought; how many.

    Books that name nothing at all are not believed: they may be another store's. Raises `Unavailable`.
    """
    store, database, named = market.artifacts, market.desk.database, _named(market)
    store.forget_doubts()
    if not await database.ask(lambda reader: any(ARTIFACTS.where(reader, "1 = 1 LIMIT 1", ()))):
        return 0
    collected = 0
    for number in range(256):
        lying = await asyncio.to_thread(store.lying, number)
        known = await database.read(partial(_names_like, beginning=f"sha256:{number:02x}")) if lying else frozenset()
        for sha256 in set(lying) - known:
            try:
                collected += store.collect(sha256, named)
            except OSError as error:
                raise Unavailable(f"an artifact cannot be removed: {error.strerror or error}") from error
            await asyncio.sleep(0)
    return collected


def _names_like(reader: BooksReader, beginning: str) -> frozenset[str]:
    found = reader.execute(_NAMES, (beginning, f"{beginning}~"))
    return frozenset(sha256 for (sha256,) in found)


def _named(market: Market) -> Callable[[str], bool]:
    """Whether anybody has brought a content."""
    read = market.desk.database.read_sync
    return lambda sha256: read(lambda reader: any(ARTIFACTS.where(reader, "sha256 = ? LIMIT 1", (sha256,))))


def _unknown(_: str) -> bool:
    return True


def keep_artifact(entry: StoryContext, limits: ArtifactLimits, stored: Stored, media_type: str) -> Artifact:
    """Make what was put into the store the caller's. The same content again stays what it was first.

    Raises `Refused`: `unsupported_media`, `limit_reached`.
    """
    key = artifact_id(entry.me.id, stored.sha256)
    known = ARTIFACTS.get(entry.transaction, key)
    if known is not None:
        return known
    brought_bytes = _brought_bytes(entry.transaction, entry.me.id) + stored.size_bytes
    if brought_bytes > limits.owner_bytes:
        raise Refused("limit_reached", f"an account may bring {limits.owner_bytes} bytes in all")
    artifact = Artifact(
        id=key,
        account_id=entry.me.id,
        sha256=stored.sha256,
        size_bytes=stored.size_bytes,
        brought_bytes=brought_bytes,
        media_type=media_type_of(media_type),
        kept_at_ms=entry.now_ms,
    )
    ARTIFACTS.open(entry.transaction, entry.now_ms, artifact, by_key=entry.me.key_id)
    return artifact


def artifact_json(artifact: Artifact) -> ArtifactShown:
    """How an artifact is shown to who brought it."""
    return {"sha256": artifact.sha256, "bytes": artifact.size_bytes, "media_type": artifact.media_type}


def find_readable(reader: BooksReader, caller: Caller, sha256: str) -> Artifact:
    """An artifact that the caller may read.

    It is theirs, or its owner named it to them: in evidence for a claim of theirs, or in a dispute with them. The
    operator and the auditor read all. Raises `Refused("not_found")`, whether or not it exists.
    """
    own = ARTIFACTS.get(reader, artifact_id(caller.id, sha256))
    if own is not None:
        return own
    if caller.sees_all or _is_named_to(reader, caller.id, sha256):
        for found in ARTIFACTS.where(reader, "sha256 = ? ORDER BY kept_at_ms LIMIT 1", (sha256,)):
            return found
    raise Refused("not_found", f"there is no artifact {sha256[:80]!r}, or you may not know of it")


def _is_named_to(reader: BooksReader, account_id: str, sha256: str) -> bool:
    """True if the owner has put it in evidence for a claim of the account's, or in a dispute with it."""
    question = {"sha256": sha256, "reader": account_id}
    manifests = reader.execute(_IN_EVIDENCE, question)
    if any(item["sha256"] == sha256 for (manifest,) in manifests for item in json.loads(manifest)):
        return True
    return any(sha256 in json.loads(evidence) for (evidence,) in reader.execute(_IN_DISPUTE, question))


def _brought_bytes(reader: BooksReader, account_id: str) -> int:
    (brought,) = reader.execute(_BROUGHT, (account_id,)).fetchone()
    return int(brought)
