"""Handing in: what was brought is stored by its hash, and the hash of all of it is what is judged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.client.payloads import Submitted
from earnest.effects.ground.storage.known_rows import Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.outside.artifacts.store import Stored
from earnest.effects.outside.web.fetching import FetchedPage, FetchLimits, Web
from earnest.foundation.canonical import JsonValue, canonical_text, digest_bytes, digest_of
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller, Scope
from earnest.market.claims import working
from earnest.market.claims.claim import Claim
from earnest.market.claims.evidence import Artifact, Submission, artifact_id
from earnest.market.jobs.offer import Requirement, missing
from earnest.market.service import ARTIFACTS, CLAIMS, JOBS, SUBMISSIONS
from earnest.runtime.desk import Prepared, StoryContext
from earnest.runtime.market.artifacts import Bringing, keep_artifact, media_type_of, room_for
from earnest.runtime.market.market import Market
from earnest.runtime.market.settling import advance, need_may_move

HTTP_OK: Final = 200
MAY_HAND_IN: Final = (Scope.LIVE, Scope.HEARTBEAT, Scope.REGISTERED)

FETCH_LIMITS: Final = FetchLimits(deadline_ms=60_000, https_only=True)


async def fetch_artifact(web: Web, url: str, bytes_max: int) -> tuple[str, FetchedPage]:
    """The digest of what is at `url`, and the page: its status is not looked at here.

    Raises `Refused`: `url_refused` (not https, on any hop), `address_refused`, `page_refused` (too long, compressed,
    too many hops); and `Unavailable` where nobody answers in time.
    """
    page = await web.fetch(url, limits=replace(FETCH_LIMITS, body_bytes=bytes_max))
    return page.digest, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that is handed in: `sha256` alone names an artifact of the seller; `inline` is text or JSON; the server
    fetches `storage_url` once. Where `sha256` is given beside one of these, it must be theirs."""

    requirement_id: str
    kind: str
    media_type: str
    sha256: str = ""
    inline: bytes | None = None
    storage_url: str = ""
    produced_at: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """An item and, where its content came with it, what of it is in the store."""

    item: Item
    stored: Stored | None = None


async def prepare_submission(brought: Bringing, caller: Caller, claim_id: str, items: Sequence[Item]) -> Prepared:
    """Store what was brought, before the transaction that hands it in, and nothing that this would refuse anyway.

    Raises `Refused`: `evidence_hash_mismatch`, `url_refused`, `address_refused`, `too_large`, and `Unavailable`.
    """
    caller.need(*MAY_HAND_IN)
    market = brought.market
    job_id, asked = await market.desk.database.ask(lambda reader: _checked(reader, market, caller, claim_id, items))
    kept = [await _keep(brought, item, asked[item.requirement_id]) for item in items]
    artifacts = [artifact_id(caller.id, one.stored.sha256 if one.stored else one.item.sha256) for one in kept]
    ahead = Sought(JOBS.lookup, (job_id,)), Sought(ARTIFACTS.lookup, tuple(artifacts))
    return lambda entry: _submit(entry, market, claim_id, kept), ahead


def _checked(
    reader: BooksReader, market: Market, caller: Caller, claim_id: str, items: Sequence[Item]
) -> tuple[str, Mapping[str, Requirement]]:
    """The job, and what it asks for, once all that is known before anything is stored or fetched fits it."""
    claim = CLAIMS.find(reader, claim_id)
    _check_may(claim, caller)
    working.submit(claim, market.desk.now_ms(), market.terms, "")
    asked = _asked(reader, claim, items)
    for item in items:
        if item.inline is not None:
            _check_content(item, item.inline, asked[item.requirement_id])
        elif not item.storage_url:
            _own(reader, caller.id, item)
        if item.inline is not None or item.storage_url:
            _check_item(item, asked[item.requirement_id], 0, media_type_of(item.media_type))
    return claim.job_id, asked


def _asked(reader: BooksReader, claim: Claim, items: Sequence[Item]) -> Mapping[str, Requirement]:
    """The requirements by id. Raises `Refused`: `validation` for what nobody asked for, `evidence_incomplete`."""
    job = JOBS.find(reader, claim.job_id)
    requirements = {one["id"]: Requirement(**one) for one in json.loads(job.requirements)}
    given: set[str] = set()
    for item in items:
        if item.requirement_id not in requirements or item.requirement_id in given:
            raise Refused("validation", f"{item.requirement_id[:80]!r} is not asked for, or given twice")
        given.add(item.requirement_id)
    if lacking := missing(list(requirements.values()), dict.fromkeys(given)):
        raise Refused("evidence_incomplete", f"still to hand in: {', '.join(lacking)}", missing=lacking)
    return requirements


async def _keep(brought: Bringing, item: Item, wanted: Requirement) -> _Kept:
    """Nothing is stored that is not what it should be, or that there is no room for."""
    if item.inline is not None:
        return _Kept(item=item, stored=await brought.put(item.inline, len(item.inline)))
    if not item.storage_url:
        return _Kept(item=item)
    market = brought.market
    async with room_for(market, brought.account_id, market.artifacts.limits.item_bytes) as bytes_max:
        content = await _fetched(market, item, bytes_max)
    _check_content(item, content, wanted)
    return _Kept(item=item, stored=await brought.put(content, len(content)))


def _check_content(item: Item, content: bytes, wanted: Requirement) -> None:
    sha256 = digest_bytes(content)
    if item.sha256 not in {"", sha256}:
        raise Refused("evidence_hash_mismatch", f"{item.requirement_id}: its content is {sha256}, not {item.sha256}")
    if len(content) > wanted.max_bytes:
        raise Refused("too_large", f"{wanted.id}: {len(content)} bytes, at most {wanted.max_bytes}")


async def _fetched(market: Market, item: Item, bytes_max: int) -> bytes:
    _, page = await fetch_artifact(market.web, item.storage_url, bytes_max)
    if page.status != HTTP_OK:
        raise Refused("page_refused", f"{item.requirement_id}: its address answers with status {page.status}")
    return page.body


def _submit(entry: StoryContext, market: Market, claim_id: str, kept: Sequence[_Kept]) -> Submitted:
    entry.me.need(*MAY_HAND_IN)
    claim = CLAIMS.find(entry.transaction, claim_id)
    _check_may(claim, entry.me)
    asked = _asked(entry.transaction, claim, [one.item for one in kept])
    manifest = _manifest(entry, market, kept, asked)
    root = digest_of(manifest)
    moved = working.submit(claim, entry.now_ms, market.terms, root)
    submission = Submission(
        id=entry.new_id("evd"),
        claim_id=claim.id,
        revision=moved.claim.revision,
        manifest=canonical_text(manifest),
        root=root,
        submitted_at_ms=entry.now_ms,
        by_key=entry.me.key_id,
    )
    SUBMISSIONS.open(entry.transaction, entry.now_ms, submission)
    after = advance(entry, market.terms, claim, moved)
    entry.leave("submission.opened", claim.id)
    return {
        "claim_id": after.id,
        "state": after.state.value,
        "evidence_id": submission.id,
        "revision": after.revision,
        "evidence_root": root,
    }


def _manifest(
    entry: StoryContext, market: Market, kept: Sequence[_Kept], requirements: Mapping[str, Requirement]
) -> list[JsonValue]:
    """What was handed in, by the requirements' ids."""
    manifest: list[JsonValue] = []
    for one in sorted(kept, key=lambda one: one.item.requirement_id):
        wanted = requirements[one.item.requirement_id]
        artifact = _artifact(entry, market, one)
        _check_item(one.item, wanted, artifact.size_bytes, artifact.media_type)
        manifest.append(
            {
                "requirement_id": wanted.id,
                "kind": wanted.kind,
                "path": wanted.path,
                "sha256": artifact.sha256,
                "bytes": artifact.size_bytes,
                "media_type": artifact.media_type,
                "storage_url": one.item.storage_url or None,
                "produced_at": one.item.produced_at or None,
                "note": one.item.note,
            }
        )
    return manifest


def _artifact(entry: StoryContext, market: Market, one: _Kept) -> Artifact:
    """The seller's artifact; one that was only now stored becomes theirs."""
    if one.stored is not None:
        return keep_artifact(entry, market.artifacts.limits, one.stored, one.item.media_type)
    return _own(entry.transaction, entry.me.id, one.item)


def _own(reader: BooksReader, account_id: str, item: Item) -> Artifact:
    known = ARTIFACTS.get(reader, artifact_id(account_id, item.sha256))
    if known is None:
        raise Refused("evidence_hash_mismatch", f"{item.requirement_id}: you have no artifact {item.sha256[:80]!r}")
    return known


def _check_item(item: Item, wanted: Requirement, size_bytes: int, media_type: str) -> None:
    if item.kind != wanted.kind:
        raise Refused("validation", f"{wanted.id}: a {wanted.kind} is asked for, not a {item.kind}")
    if size_bytes > wanted.max_bytes:
        raise Refused("too_large", f"{wanted.id}: {size_bytes} bytes, at most {wanted.max_bytes}")
    if wanted.accept_media and media_type not in wanted.accept_media:
        raise Refused("unsupported_media", f"{wanted.id}: one of {', '.join(wanted.accept_media)}")


def _check_may(claim: Claim, caller: Caller) -> None:
    """What is handed in brings money about: a key that only registers does so for ai$ and free work alone."""
    if claim.seller != caller.id:
        raise Refused("not_a_party", "only the seller hands in evidence for a claim")
    need_may_move(caller, claim.currency, claim.amount_micro)
