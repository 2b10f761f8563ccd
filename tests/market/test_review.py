"""Who may review whom when, and does the commitment bind?"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.claims.contest import ruled_buyer
from earnest.market.claims.ending import settled
from earnest.market.reviews import review as rules
from earnest.market.reviews.review import Opinion, ReviewRow, Side

from .claims import BUYER, NOW, SELLER, TERMS, claim_in, disputed

RELEASED = claim_in(ClaimState.RELEASED)
SALT = "00" * 16


def sent(claim: Claim = RELEASED, *, at_ms: int = NOW, taken: Collection[Side] = ()) -> ReviewRow:
    return rules.sent(claim, Side.SELLER, taken, at_ms, TERMS, review_id="rev_1", commitment="sha256:0")


def test_a_review_is_on_time_for_seven_days_late_for_seven_more_and_then_locked_out() -> None:
    assert not sent(at_ms=NOW + 7 * DAY_MS - 1_000).late
    assert sent(at_ms=NOW + 7 * DAY_MS).late
    assert sent(at_ms=NOW + 14 * DAY_MS - 1_000).late
    with pytest.raises(Refused) as refused:
        sent(at_ms=NOW + 14 * DAY_MS)
    assert refused.value.code == "review_window_closed"


def test_a_side_reviews_once() -> None:
    with pytest.raises(Refused) as refused:
        sent(taken=[Side.SELLER])
    assert refused.value.code == "review_exists"
    assert sent(taken=[Side.BUYER]).side is Side.SELLER


def test_after_publication_nobody_reviews_any_more() -> None:
    published = replace(RELEASED, reviews_published_at_ms=NOW)
    with pytest.raises(Refused) as refused:
        sent(published)
    assert refused.value.code == "review_window_closed"


@pytest.mark.parametrize("state", sorted(set(ClaimState) - {ClaimState.RELEASED}))
def test_what_was_not_released_is_not_reviewed(state: ClaimState) -> None:
    """Nor a refund that no dispute led to."""
    with pytest.raises(Refused) as refused:
        sent(claim_in(state))
    assert refused.value.code == "claim_state"


def test_a_refund_after_a_dispute_is_reviewed() -> None:
    refunded = settled(ruled_buyer(disputed(), NOW).claim, NOW, TERMS).claim
    assert refunded.state is ClaimState.REFUNDED
    assert sent(refunded).author == SELLER


def test_reviews_between_related_parties_weigh_nothing() -> None:
    assert sent().weight == 1
    assert sent(replace(RELEASED, related=True)).weight == 0


@pytest.mark.parametrize(
    ("sides", "at_ms", "ripe"),
    [
        ((), NOW, False),
        ((Side.SELLER,), NOW + 14 * DAY_MS - 1_000, False),
        ((Side.SELLER, Side.BUYER), NOW, True),
        ((Side.SELLER,), NOW + 14 * DAY_MS, True),
        ((), NOW + 14 * DAY_MS, True),
    ],
)
def test_reviews_are_published_when_both_are_in_or_the_window_is_over(
    sides: tuple[Side, ...], at_ms: int, ripe: bool
) -> None:
    assert rules.is_ripe(RELEASED, sides, at_ms) is ripe
    assert not rules.is_ripe(replace(RELEASED, reviews_published_at_ms=NOW), sides, at_ms)
    assert not rules.is_ripe(claim_in(ClaimState.CANCELLED), sides, at_ms)


opinions = st.builds(
    Opinion,
    rating=st.integers(1, 5),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    parts=st.dictionaries(st.sampled_from(rules.PARTS), st.integers(1, 5)),
)


@given(one=opinions, other=opinions)
def test_a_commitment_is_of_one_review_alone(one: Opinion, other: Opinion) -> None:
    first, second = (
        rules.commitment_of(rules.review_json(RELEASED, Side.SELLER, opinion), SALT) for opinion in (one, other)
    )
    assert (first == second) == (one == other)
    assert first != rules.commitment_of(rules.review_json(RELEASED, Side.SELLER, one), "01" * 16)


def test_a_sealed_row_holds_nothing_of_what_the_review_says() -> None:
    row = sent()
    assert (row.rating, row.parts, row.text, row.salt) == (0, "{}", "", "")
    shown = rules.published(row, Opinion(rating=2, text="so so", parts={"quality": 1}), SALT, NOW)
    assert (shown.rating, shown.parts, shown.text, shown.salt) == (2, '{"quality":1}', "so so", SALT)


@pytest.mark.parametrize(
    "said",
    [
        {"rating": 0},
        {"rating": 6},
        {"rating": True},
        {"rating": 4.0},
        {"parts": {"quality": 6}},
        {"parts": {"looks": 3}},
        {"text": "x" * 4_001},
    ],
)
def test_an_opinion_out_of_bounds_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        Opinion(**{"rating": 3, "parts": {}, **said})
    assert refused.value.code == "validation"


def test_whom_a_review_is_about_answers_it_once_after_publication() -> None:
    row = sent()
    shown = rules.published(row, Opinion(rating=2, parts={}), SALT, NOW)
    answered = rules.replied(shown, BUYER, "thank you", NOW)
    assert answered.reply == "thank you"
    for about, account, text, code in [
        (shown, SELLER, "x", "not_a_party"),
        (shown, "act_x", "x", "not_a_party"),
        (row, BUYER, "x", "not_found"),
        (answered, BUYER, "x", "review_exists"),
        (shown, BUYER, "", "validation"),
        (shown, BUYER, "x" * 1_001, "validation"),
    ]:
        with pytest.raises(Refused) as refused:
            rules.replied(about, account, text, NOW)
        assert refused.value.code == code
