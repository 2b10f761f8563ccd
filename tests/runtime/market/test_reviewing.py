"""Reviews on a real database: hidden until they are published, and then the ones that were sent."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from books_file import file_of
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Broken, Refused
from earnest.identity.key import Caller, Scope
from earnest.market.reviews.review import Opinion, ReviewRow, Side, commitment_of
from earnest.market.service import CLAIMS, REVIEWS
from earnest.runtime.market import clocks, reviewing
from earnest.runtime.market.judging import Judging
from earnest.runtime.recompute import recompute
from earnest.views.claims import review_json, reviews_about, reviews_of_claim

from .conftest import Town, usd
from .test_jobs_and_claims import claim, pass_time, post, submit

DAY_S = 86_400


async def released(town: Town, owner: str | None = None) -> tuple[Caller, Caller, str]:
    ann, bob = town.somebody("ann", usd_micro=usd(100), operator=owner), town.somebody("bob", operator=owner)
    claim_id = claim(town, bob, await post(town, ann))
    await submit(town, bob, claim_id)
    await Judging(town.market).drain()
    return ann, bob, claim_id


def review(town: Town, caller: Caller, claim_id: str, rating: int = 4, text: str = "well done") -> Members:
    opinion = Opinion(rating=rating, text=text, parts={"quality": rating})
    return town.act(caller, lambda entry: reviewing.send_review(entry, town.market.terms, claim_id, opinion))


def rows(town: Town) -> list[ReviewRow]:
    return list(town.database.read_sync(lambda reader: list(REVIEWS.where(reader, "TRUE ORDER BY sent_at_ms"))))


def sealed(town: Town) -> int:
    count = town.database.read_sync(lambda reader: reader.execute("SELECT count(*) FROM sealed_reviews").fetchone()[0])
    return int(count)


def look(town: Town, claim_id: str) -> None:
    """The clock looks at the claim."""
    town.act(None, lambda entry: clocks.claim_due(entry, town.market.terms, claim_id))


def seen(town: Town, claim_id: str, viewer: str, *, sees_all: bool = False) -> dict[str, Any]:
    return dict(
        town.database.read_sync(
            lambda reader: reviews_of_claim(reader, claim_id, viewer, town.market.terms, sees_all=sees_all)
        )
    )


async def test_two_reviews_are_published_together_and_prove_that_they_are_the_ones_sent(town: Town) -> None:
    ann, bob, claim_id = await released(town)
    first = review(town, bob, claim_id, rating=5)
    assert (first["published"], sealed(town)) == (False, 1)
    await pass_time(town, 3_600)
    second = review(town, ann, claim_id, rating=2, text="late")
    assert (second["published"], sealed(town)) == (True, 0)
    shown = seen(town, claim_id, ann.id)
    assert [one["published_at"] for one in shown["reviews"]] == [shown["published_at"]] * 2
    for one in shown["reviews"]:
        content = {name: one[name] for name in ("about", "author", "claim_id", "parts", "rating", "side", "text")}
        assert commitment_of(content, one["salt"]) == one["commitment"]
    assert {one["commitment"] for one in shown["reviews"]} == {first["commitment"], second["commitment"]}
    about_ann = town.database.read_sync(lambda reader: reviews_about(reader, ann.id, before=None, limit=9))
    assert [review_json(row)["rating"] for row in about_ann] == [5]


async def test_a_lone_review_is_published_when_the_window_closes_and_the_other_side_is_locked_out(town: Town) -> None:
    ann, bob, claim_id = await released(town)
    review(town, bob, claim_id)
    await pass_time(town, 14 * DAY_S - 1)
    look(town, claim_id)
    assert [row.published_at_ms for row in rows(town)] == [None]
    await pass_time(town, 1)
    look(town, claim_id)
    assert [row.rating for row in rows(town)] == [4]
    with pytest.raises(Refused) as refused:
        review(town, ann, claim_id)
    assert refused.value.code == "review_window_closed"
    ended = town.database.read_sync(lambda reader: CLAIMS.find(reader, claim_id))
    assert (ended.reviews_published_at_ms, ended.wake_ms) == (town.clock.now_ms(), None)


async def test_a_window_that_nobody_used_ends_as_well(town: Town) -> None:
    _, _, claim_id = await released(town)
    await pass_time(town, 14 * DAY_S)
    look(town, claim_id)
    look(town, claim_id)
    ended = town.database.read_sync(lambda reader: CLAIMS.find(reader, claim_id))
    assert (rows(town), ended.wake_ms) == ([], None)


async def test_a_side_reviews_once_and_a_stranger_never(town: Town) -> None:
    _, bob, claim_id = await released(town)
    eve = town.somebody("eve")
    review(town, bob, claim_id)
    for caller, where, code in [
        (bob, claim_id, "review_exists"),
        (eve, claim_id, "not_a_party"),
        (eve, "clm_x", "not_found"),
        (town.with_scope(bob, Scope.AUDITOR), claim_id, "scope_forbidden"),
    ]:
        with pytest.raises(Refused) as refused:
            review(town, caller, where)
        assert refused.value.code == code
    assert len(rows(town)) == 1


async def test_a_heartbeat_key_may_review(town: Town) -> None:
    _, bob, claim_id = await released(town)
    assert review(town, town.with_scope(bob, Scope.HEARTBEAT), claim_id)["published"] is False


async def test_reviews_of_ones_own_agents_weigh_nothing(town: Town) -> None:
    _, bob, claim_id = await released(town, owner="act_owner")
    review(town, bob, claim_id)
    assert [row.weight for row in rows(town)] == [0]


async def test_before_publication_the_other_side_learns_that_there_is_a_review_and_nothing_else(town: Town) -> None:
    ann, bob, claim_id = await released(town)
    review(town, bob, claim_id)
    theirs = seen(town, claim_id, ann.id)
    assert (theirs["submitted_by"], theirs["mine"], theirs["reviews"]) == (["seller"], None, [])
    mine = seen(town, claim_id, bob.id)
    assert set(mine["mine"]) == {"review_id", "sent_at", "late", "commitment"}
    assert seen(town, claim_id, "act_op", sees_all=True)["reviews"] == []
    with pytest.raises(Refused) as refused:
        seen(town, claim_id, "act_eve")
    assert refused.value.code == "not_a_party"


async def books_with(tmp_path: Path, rating: int, text: str, stage: str) -> str:
    """All that the books hold after a seeded scenario, but for what lies sealed, and hashes."""
    from .conftest import town as make_town

    folder = tmp_path / f"{stage}{rating}"
    folder.mkdir()
    generator = make_town.__wrapped__(folder)  # type: ignore[attr-defined]
    town: Town = next(generator)
    try:
        ann, bob, claim_id = await released(town)
        review(town, bob, claim_id, rating, text)
        if stage == "retried":
            with pytest.raises(Refused):
                review(town, bob, claim_id, 6 - rating, text)
        await pass_time(town, 3 * DAY_S)
        look(town, claim_id)
        town.act(ann, lambda entry: {})
        path = file_of(town.database)
        with sqlite3.connect(path) as reader:
            dumped = "\n".join(line for line in reader.iterdump() if "sealed_reviews" not in line)
            facts = reader.execute("SELECT seq, kind, subject, body FROM facts ORDER BY seq").fetchall()
    finally:
        generator.close()
    tables = "\n".join(line for line in dumped.splitlines() if 'INTO "facts"' not in line)
    told = json.dumps([[seq, kind, subject, json.loads(body)] for seq, kind, subject, body in facts], sort_keys=True)
    return re.sub(r"sha256:[0-9a-f]{64}", "sha256:…", tables + told)


@pytest.mark.parametrize("stage", ["sent", "retried"])
async def test_no_table_and_no_fact_depends_on_what_a_hidden_review_says(tmp_path: Path, stage: str) -> None:
    one = await books_with(tmp_path, 1, "never again", stage)
    five = await books_with(tmp_path, 5, "best ever, truly", stage)
    assert one == five
    assert "never again" not in one
    assert "review.opened" in one


async def test_the_facts_lead_to_every_row_before_and_after_publication(town: Town) -> None:
    ann, bob, claim_id = await released(town)
    review(town, bob, claim_id)
    for _ in range(2):
        found = town.database.read_sync(lambda reader: recompute(reader, SystemClock()))
        assert found.differences == ()
        if len(rows(town)) == 1:
            review(town, ann, claim_id)
    assert [row.side for row in rows(town)] == [Side.SELLER, Side.BUYER]


async def test_a_sealed_review_that_was_altered_is_not_published(town: Town) -> None:
    ann, bob, claim_id = await released(town)
    review(town, bob, claim_id, rating=1)
    with sqlite3.connect(file_of(town.database)) as behind_our_back:
        behind_our_back.execute("UPDATE sealed_reviews SET content = replace(content, '\"rating\":1', '\"rating\":5')")
    with pytest.raises(Broken):
        review(town, ann, claim_id)
    assert [row.published_at_ms for row in rows(town)] == [None]


async def test_a_published_review_is_answered_once_by_whom_it_is_about(town: Town) -> None:
    ann, bob, claim_id = await released(town)
    review_id = str(review(town, bob, claim_id)["review_id"])

    def answer(caller: Caller, text: str = "thanks") -> Members:
        return town.act(caller, lambda entry: reviewing.answer_review(entry, review_id, text))

    with pytest.raises(Refused) as refused:
        answer(ann)
    assert refused.value.code == "not_found", "what is hidden cannot be answered"
    review(town, ann, claim_id)
    answer(ann)
    about_ann = town.database.read_sync(lambda reader: reviews_about(reader, ann.id, before=None, limit=9))
    assert [review_json(row)["reply"] for row in about_ann] != [None]
    with pytest.raises(Refused) as refused:
        answer(ann, "again")
    assert refused.value.code == "review_exists"
