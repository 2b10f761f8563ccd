"""Who may bring artifacts, how much, and who may read them?"""

import contextlib
import json
from typing import Any

import pytest

from earnest.effects.outside.artifacts.store import ArtifactLimits, Stored
from earnest.foundation.canonical import JsonObject, digest_bytes
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller, Scope
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.claims.evidence import Submission
from earnest.market.disputes.dispute import Dispute, DisputeState, Statement
from earnest.market.service import CLAIMS, DISPUTES, STATEMENTS, SUBMISSIONS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.artifacts import (
    artifact_json,
    find_readable,
    keep_artifact,
    media_type_of,
    room_for,
)

from .conftest import START_MS, Town

LIMITS = ArtifactLimits(item_bytes=100, owner_bytes=250)


def stored(content: bytes) -> Stored:
    return Stored(sha256=digest_bytes(content), size_bytes=len(content))


def keep(town: Town, caller: Caller, content: bytes, media_type: str = "text/plain") -> str:
    what = stored(content)
    town.act(caller, lambda entry: artifact_json(keep_artifact(entry, LIMITS, what, media_type)))
    return what.sha256


def may_read(town: Town, caller: Caller, sha256: str) -> bool:
    with contextlib.suppress(Refused):
        return town.database.read_sync(lambda reader: find_readable(reader, caller, sha256)).sha256 == sha256
    return False


async def room(town: Town, caller: Caller, size_bytes: int = 100) -> int:
    town.market.artifacts.limits = LIMITS
    async with room_for(town.market, caller.id, size_bytes) as found:
        return found


def claim(seller: Caller, buyer: Caller, claim_id: str = "clm_1") -> Claim:
    values: dict[str, Any] = dict.fromkeys(
        ("fee_micro", "claimed_at_ms", "start_at_ms", "due_at_ms", "grace_ends_at_ms", "auto_release_s", "revise_s"), 0
    )
    return Claim(
        id=claim_id,
        job_id="job_1",
        job_title="t",
        seller=seller.id,
        buyer=buyer.id,
        state=ClaimState.SUBMITTED,
        currency="USD",
        amount_micro=0,
        acceptance="machine",
        category="c",
        task_class="objective",
        spec_digest="",
        auto_extend=False,
        revisions_left=0,
        **values,
    )


def hand_in(town: Town, handed: Claim, manifest: list[JsonObject]) -> None:
    def act(entry: StoryContext) -> JsonObject:
        if CLAIMS.get(entry.transaction, handed.id) is None:
            CLAIMS.open(entry.transaction, entry.now_ms, handed)
        submission = Submission(
            id=entry.new_id("evd"),
            claim_id=handed.id,
            revision=1,
            manifest=json.dumps(manifest),
            root="",
            submitted_at_ms=entry.now_ms,
            by_key="",
        )
        SUBMISSIONS.open(entry.transaction, entry.now_ms, submission)
        return {}

    town.act(None, act)


def dispute(raiser: Caller, respondent: Caller) -> Dispute:
    return Dispute(
        id="dsp_1",
        claim_id="clm_1",
        raiser=raiser.id,
        respondent=respondent.id,
        state=DisputeState.OPEN,
        currency="USD",
        amount_micro=0,
        stake_micro=0,
        reason="",
        criteria="[]",
        opened_at_ms=START_MS,
        hard_limit_ms=START_MS,
        stake_by_ms=START_MS,
        revision=1,
    )


def say(town: Town, author: Caller, case: Dispute, sha256: str) -> None:
    """A statement of the author's that shows the artifact; it opens the case if there is none."""
    statement = Statement(
        id=f"s_{author.id}",
        dispute_id=case.id,
        number=1,
        author=author.id,
        text="",
        evidence=json.dumps([sha256]),
        said_at_ms=0,
    )

    def act(entry: StoryContext) -> JsonObject:
        if DISPUTES.get(entry.transaction, case.id) is None:
            DISPUTES.open(entry.transaction, entry.now_ms, case)
        STATEMENTS.open(entry.transaction, entry.now_ms, statement)
        return {}

    town.act(None, act)


@pytest.fixture
def crow(town: Town) -> Caller:
    return town.somebody("crow")


@pytest.fixture
def fox(town: Town) -> Caller:
    return town.somebody("fox")


@pytest.fixture
def owl(town: Town) -> Caller:
    return town.somebody("owl")


def test_a_content_is_whose_who_brought_it(town: Town, crow: Caller, fox: Caller) -> None:
    sha256 = keep(town, crow, b"mine")
    assert may_read(town, crow, sha256)
    assert not may_read(town, fox, sha256)
    assert may_read(town, town.with_scope(fox, Scope.OPERATOR), sha256)
    assert may_read(town, town.with_scope(fox, Scope.AUDITOR), sha256)


def test_the_same_content_again_costs_nothing_and_stays_what_it_was(town: Town, crow: Caller) -> None:
    sha256 = keep(town, crow, b"x" * 100, "text/plain")
    before = town.database.last_seq
    keep(town, crow, b"x" * 100, "text/html")
    assert town.database.last_seq == before
    found = town.database.read_sync(lambda reader: find_readable(reader, crow, sha256))
    assert found.media_type == "text/plain"


async def test_an_account_brings_no_more_than_its_share(town: Town, crow: Caller, fox: Caller) -> None:
    assert await room(town, crow) == 100
    keep(town, crow, b"a" * 100)
    keep(town, crow, b"b" * 100)
    assert await room(town, crow) == 50
    with pytest.raises(Refused) as caught:
        keep(town, crow, b"c" * 51)
    assert caught.value.code == "limit_reached"
    keep(town, crow, b"c" * 50)
    with pytest.raises(Refused) as caught:
        await room(town, crow)
    assert caught.value.code == "limit_reached"
    keep(town, crow, b"a" * 100)
    assert await room(town, fox) == 100


async def test_what_is_sent_at_the_same_time_shares_the_room(town: Town, crow: Caller, fox: Caller) -> None:
    keep(town, crow, b"a" * 100)
    assert await room(town, crow) == 100
    async with contextlib.AsyncExitStack() as sending:
        rooms = [room_for(town.market, crow.id, wanted) for wanted in (60, 999)]
        assert [await sending.enter_async_context(one) for one in rooms] == [60, 90]
        with pytest.raises(Refused):
            await room(town, crow, 1)
        assert await room(town, fox) == 100
    assert await room(town, crow) == 100


def test_evidence_is_read_by_the_buyer_it_was_handed_to_and_nobody_else(
    town: Town, crow: Caller, fox: Caller, owl: Caller
) -> None:
    sha256, other = keep(town, crow, b"report"), keep(town, crow, b"private")
    hand_in(town, claim(crow, fox), [{"requirement_id": "r", "sha256": sha256, "note": f"not {other}"}])
    assert may_read(town, fox, sha256)
    assert not may_read(town, owl, sha256)
    assert not may_read(town, fox, other)


def test_naming_somebody_elses_artifact_in_evidence_opens_nothing(
    town: Town, crow: Caller, fox: Caller, owl: Caller
) -> None:
    sha256 = keep(town, crow, b"private")
    hand_in(town, claim(fox, owl), [{"requirement_id": "r", "sha256": sha256}])
    hand_in(town, claim(owl, fox, "clm_2"), [{"requirement_id": "r", "sha256": sha256}])
    assert not may_read(town, fox, sha256)
    assert not may_read(town, owl, sha256)


def test_evidence_in_a_dispute_is_read_by_both_sides_of_it(town: Town, crow: Caller, fox: Caller, owl: Caller) -> None:
    sha256, private = keep(town, crow, b"proof"), keep(town, crow, b"private")
    case = dispute(fox, crow)
    say(town, crow, case, sha256)
    say(town, fox, case, private)
    assert may_read(town, fox, sha256)
    assert not may_read(town, owl, sha256)
    assert not may_read(town, fox, private)


@pytest.mark.parametrize(
    ("header", "media_type"),
    [
        ("", "application/octet-stream"),
        ("Text/HTML; charset=utf-8", "text/html"),
        ("application/vnd.api+json", "application/vnd.api+json"),
    ],
)
def test_a_media_type_is_kept_without_its_parameters(header: str, media_type: str) -> None:
    assert media_type_of(header) == media_type


@pytest.mark.parametrize(
    "header", ["text", "/", "text/", "a/b/c", "text/pl ain", "text/plain\r\nX: y", "tëxt/plain", "t/" + "x" * 64]
)
def test_what_is_no_media_type_is_not_kept(town: Town, crow: Caller, header: str) -> None:
    with pytest.raises(Refused) as caught:
        keep(town, crow, b"x", header)
    assert caught.value.code == "unsupported_media"
