"""Old artifacts end when nothing uses them any more: not while a claim, its job, a dispute or a heartbeat needs them,
nor so soon after that a receipt could not be judged again.
"""

import json
from dataclasses import replace

import pytest

from earnest.accountability.heartbeat import CheckInState, Heartbeat
from earnest.accountability.service import HEARTBEATS
from earnest.foundation.canonical import JsonObject, digest_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS
from earnest.identity.key import Caller
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.claims.evidence import BY_POSTER
from earnest.market.disputes.dispute import Dispute, DisputeState
from earnest.market.jobs.job import JobState
from earnest.market.service import ARTIFACTS, CLAIMS, DISPUTES, JOBS, SUBMISSIONS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.artifacts import collect_artifacts, keep_artifact
from earnest.runtime.market.judging import Judging
from earnest.runtime.recompute import recompute
from earnest.runtime.sweeping import UnusedArtifacts, end_artifacts, unused_artifacts

from .conftest import Town, usd
from .test_artifacts import claim as some_claim
from .test_artifacts import dispute as some_dispute
from .test_artifacts import hand_in, say
from .test_jobs_and_claims import claim, post, submit

YEAR_MS = 365 * DAY_MS


async def brought(town: Town, caller: Caller, content: bytes) -> str:
    """An artifact, in the store and in the books."""
    stored = await town.market.artifacts.put(content)

    def keep(entry: StoryContext) -> JsonObject:
        keep_artifact(entry, town.market.artifacts.limits, stored, "text/plain")
        return {}

    town.act(caller, keep)
    return stored.sha256


def unused(town: Town) -> UnusedArtifacts:
    since_ms = town.market.desk.now_ms() - YEAR_MS
    return town.database.read_sync(lambda reader: unused_artifacts(reader, since_ms))


def digests(town: Town) -> set[str]:
    return {one.sha256 for one in unused(town).artifacts}


async def years_pass(town: Town, days: int = 366) -> None:
    await town.clock.advance_ms(days * DAY_MS)


def changed(town: Town, claim_id: str, **values: object) -> None:
    def act(entry: StoryContext) -> JsonObject:
        claim = CLAIMS.find(entry.transaction, claim_id)
        after = replace(claim, **values)  # type: ignore[arg-type]
        CLAIMS.change(entry.transaction, entry.now_ms, claim, after, reason="test")
        return {}

    town.act(None, act)


async def claimed(town: Town, seller: Caller, buyer: Caller, sha256: str) -> Claim:
    claim = some_claim(seller, buyer)
    hand_in(town, claim, [{"path": "a", "sha256": sha256}])
    return claim


async def test_what_nobody_named_goes_after_a_year_and_not_before(town: Town) -> None:
    bob = town.somebody("bob")
    old = await brought(town, bob, b"old")
    await years_pass(town, 300)
    await brought(town, bob, b"new")
    assert digests(town) == set()
    await years_pass(town, 66)
    assert digests(town) == {old}


async def test_evidence_stays_while_its_claim_goes_on_and_a_year_longer_for_its_receipt(town: Town) -> None:
    ann, bob = town.somebody("ann"), town.somebody("bob")
    sha256 = await brought(town, bob, b"work")
    claim = await claimed(town, bob, ann, sha256)
    await years_pass(town, 1_000)
    assert digests(town) == set(), "it goes on"
    changed(town, claim.id, state=ClaimState.RELEASED, ended_at_ms=town.market.desk.now_ms())
    await years_pass(town, 364)
    assert digests(town) == set(), "its receipt may be judged again"
    await years_pass(town, 2)
    assert digests(town) == {sha256}


async def test_evidence_and_what_was_said_stay_while_a_dispute_about_an_ended_claim_lives(town: Town) -> None:
    ann, bob = town.somebody("ann"), town.somebody("bob")
    work, shown = await brought(town, bob, b"work"), await brought(town, bob, b"shown")
    claim = await claimed(town, bob, ann, work)
    changed(town, claim.id, state=ClaimState.RELEASED, ended_at_ms=town.market.desk.now_ms())
    say(town, bob, some_dispute(bob, ann), shown)
    await years_pass(town, 1_000)
    assert digests(town) == set()

    def close(entry: StoryContext) -> JsonObject:
        before: Dispute = next(DISPUTES.where(entry.transaction, "1 = 1"))
        after = replace(before, state=DisputeState.FINAL, closed_at_ms=entry.now_ms)
        DISPUTES.change(entry.transaction, entry.now_ms, before, after, reason="test")
        return {}

    town.act(None, close)
    await years_pass(town, 364)
    assert digests(town) == set()
    await years_pass(town, 2)
    assert digests(town) == {work, shown}


async def test_files_of_a_job_stay_while_it_is_open(town: Town) -> None:
    ann = town.somebody("ann", usd_micro=usd(100))
    sha256 = await brought(town, ann, b"expected")
    job_id = await post(town, ann)

    def name_file(entry: StoryContext) -> JsonObject:
        job = JOBS.find(entry.transaction, job_id)
        files = json.dumps([{"path": "expected.txt", "sha256": sha256}])
        JOBS.change(entry.transaction, entry.now_ms, job, replace(job, files=files), reason="test")
        return {}

    town.act(ann, name_file)
    await years_pass(town)
    assert digests(town) == set()

    def end(entry: StoryContext) -> JsonObject:
        job = JOBS.find(entry.transaction, job_id)
        ended = replace(job, state=JobState.LAPSED, ended_at_ms=entry.now_ms)
        JOBS.change(entry.transaction, entry.now_ms, job, ended, reason="test")
        return {}

    town.act(ann, end)
    await years_pass(town)
    assert digests(town) == {sha256}


async def test_what_was_handed_in_with_a_heartbeat_stays_until_it_is_judged_and_a_year_longer(town: Town) -> None:
    bob = town.somebody("bob")
    sha256 = await brought(town, bob, b"log")
    checked_in = Heartbeat(
        id="hbt_1",
        account_id=bob.id,
        at_ms=town.market.desk.now_ms(),
        date="2026-06-01",
        zone="UTC",
        state=CheckInState.VERIFYING,
        contract_digest="",
        asked="[]",
        artifacts=json.dumps([{"path": "log", "sha256": sha256}]),
    )
    judged_at_ms = checked_in.at_ms + 1_000 * DAY_MS

    def open_it(entry: StoryContext) -> JsonObject:
        HEARTBEATS.open(entry.transaction, entry.now_ms, checked_in)
        return {}

    def judge(entry: StoryContext) -> JsonObject:
        judged = replace(checked_in, state=CheckInState.JUDGED, judged_at_ms=judged_at_ms)
        HEARTBEATS.change(entry.transaction, entry.now_ms, checked_in, judged, reason="test")
        return {}

    town.act(bob, open_it)
    await years_pass(town, 1_000)
    assert digests(town) == set()
    town.act(None, judge)
    await years_pass(town, 364)
    assert digests(town) == set()
    await years_pass(town, 2)
    assert digests(town) == {sha256}


async def test_what_ends_loses_its_content_unless_somebody_else_brought_it_and_the_books_recompute(town: Town) -> None:
    bob, eve = town.somebody("bob"), town.somebody("eve")
    alone, shared = await brought(town, bob, b"alone"), await brought(town, bob, b"shared")
    await years_pass(town)
    await brought(town, eve, b"shared")
    found = unused(town)
    assert {one.sha256 for one in found.artifacts} == {alone, shared}
    ended = town.database.write_sync(
        lambda tx: end_artifacts(tx, found.artifacts, found.seq, town.market.desk.now_ms())
    )
    assert len(ended) == 2
    assert await collect_artifacts(town.market) == 1
    assert town.market.artifacts.read(shared) == b"shared"
    assert town.database.read_sync(lambda reader: recompute(reader, town.clock)).differences == ()


async def test_what_is_named_between_the_look_and_the_end_stays(town: Town) -> None:
    ann, bob = town.somebody("ann"), town.somebody("bob")
    late, never = await brought(town, bob, b"late"), await brought(town, bob, b"never")
    await years_pass(town)
    found = unused(town)
    await claimed(town, bob, ann, late)
    ended = town.database.write_sync(
        lambda tx: end_artifacts(tx, found.artifacts, found.seq, town.market.desk.now_ms())
    )
    assert [one.sha256 for one in ended] == [never]
    assert town.database.read_sync(lambda reader: {one.sha256 for one in ARTIFACTS.where(reader, "1 = 1")}) == {late}
    assert digest_bytes(b"late") == late


async def test_a_job_names_files_that_its_poster_has_brought_and_is_unclear_by_their_fault_without(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    with pytest.raises(Refused, match="files: you have no artifact"):
        await post(town, ann, files={"expected.txt": await brought(town, bob, b"not hers")})
    job_id = await post(town, ann, files={"expected.txt": await brought(town, ann, b"hers")})
    claim_id = claim(town, bob, job_id)
    await submit(town, bob, claim_id)

    def lose_file(entry: StoryContext) -> JsonObject:
        job = JOBS.find(entry.transaction, job_id)
        files = json.dumps([{"path": "expected.txt", "sha256": "0" * 64}])
        JOBS.change(entry.transaction, entry.now_ms, job, replace(job, files=files), reason="test")
        return {}

    town.act(ann, lose_file)
    await Judging(town.market).drain()
    (judged,) = town.database.read_sync(lambda reader: [*SUBMISSIONS.where(reader, "claim_id = ?", (claim_id,))])
    verdict = json.loads(judged.verdict)
    assert (verdict["verdict"], verdict[BY_POSTER]) == ("unclear", True)
    assert verdict["reason"] == f"the poster's fault: files: you have no artifact {'0' * 64}"
