"""Does time alone bring every claim to an end, and at the right instants?"""

from dataclasses import replace
from itertools import product

import pytest

from earnest.contracts.spec import Acceptance
from earnest.foundation.instants import DAY_MS, HOUR_MS
from earnest.market.claims import ending, judgement, working
from earnest.market.claims.claim import TERMINAL, Claim, ClaimState, is_overdue
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import OPERATOR_ASKED, deadline, with_wake
from earnest.market.claims.moving import ClaimTransition
from earnest.market.homes.priority import due_soon_at_ms
from earnest.verification.verdict import Answer

from .claims import NOW, SELLER, TERMS, claim_in, disputed, opened, submitted

S = ClaimState
REVIEW_MS = TERMS.auto_release_s * 1_000
VERDICTS = ("", *Answer)


def events(claim: Claim, now_ms: int) -> list[str]:
    return [moved.event for moved in clock(claim, now_ms, TERMS)]


def lived(claim: Claim) -> tuple[list[ClaimTransition], Claim]:
    """All that becomes of a claim that nobody but clock and ledger touches, each coming exactly when it is due."""
    moves: list[ClaimTransition] = []
    while claim.state not in TERMINAL:
        assert claim.wake_ms is not None, f"{claim.state} waits for nobody"
        now_ms = claim.wake_ms
        if claim.state in {S.RELEASING, S.REFUNDING}:
            found: tuple[ClaimTransition, ...] = (ending.settled(claim, now_ms, TERMS),)
        else:
            found = clock(claim, now_ms, TERMS)
        assert found, f"the clock was called for nothing in {claim.state}"
        moves += found
        claim = found[-1].claim
        assert len(moves) < 10
    return moves, claim


@pytest.mark.parametrize(("state", "acceptance", "last"), list(product(ClaimState, Acceptance, VERDICTS)))
def test_from_every_state_clock_and_ledger_alone_reach_an_end(state: S, acceptance: str, last: str) -> None:
    current = "" if state is S.SUBMITTED else last
    claim = with_wake(replace(claim_in(state, acceptance), verdict=current, last_verdict=last))
    moves, ended = lived(claim)
    assert ended.state in TERMINAL
    assert (ended.ended_at_ms or NOW) <= NOW + 40 * DAY_MS
    marks = [signal for moved in moves for signal in moved.signals]
    assert len(marks) <= 1
    assert {mark.account_id for mark in marks} <= {SELLER}


@pytest.mark.parametrize("state", [S.CLAIMED, S.IN_PROGRESS])
def test_a_claim_without_evidence_expires_when_grace_ends_and_not_before(state: S) -> None:
    claim = claim_in(state)
    grace_ends_ms = NOW + 2 * DAY_MS
    assert claim.wake_ms == grace_ends_ms
    assert events(claim, grace_ends_ms - 1_000) == []
    (moved,) = clock(claim, grace_ends_ms, TERMS)
    assert (moved.claim.state, moved.ledger) == (S.EXPIRED, "void_hold")
    assert moved.signals[0].kind == "missed_deadline"
    assert moved.claim.wake_ms is None


@pytest.mark.parametrize("acceptance", ["buyer", "proposer"])
@pytest.mark.parametrize("last", ["", "unclear", "verified"])
def test_the_silence_of_who_accepts_releases(acceptance: str, last: str) -> None:
    claim = with_wake(replace(submitted(), acceptance=acceptance, verdict=last, last_verdict=last))
    assert events(claim, NOW + REVIEW_MS - 1_000) == []
    assert events(claim, NOW + REVIEW_MS) == ["clock:review_ended"]


@pytest.mark.parametrize(("acceptance", "verdict"), [("machine", ""), ("human", ""), ("human", "unclear")])
def test_unjudged_work_waits_for_the_operator_and_is_given_back_without_a_mark(acceptance: str, verdict: str) -> None:
    claim = with_wake(replace(submitted(), acceptance=acceptance, verdict=verdict, last_verdict=verdict))
    (asked,) = clock(claim, NOW + REVIEW_MS, TERMS)
    assert (asked.event, asked.claim.state, asked.claim.escalated) == (OPERATOR_ASKED, S.SUBMITTED, True)
    assert asked.claim.wake_ms == NOW + REVIEW_MS + 14 * DAY_MS
    assert events(asked.claim, NOW + REVIEW_MS + 14 * DAY_MS - 1_000) == []
    (lapsed,) = clock(asked.claim, NOW + REVIEW_MS + 14 * DAY_MS, TERMS)
    assert (lapsed.event, lapsed.claim.state, lapsed.signals) == ("clock:review_lapsed", S.REFUNDING, ())


def test_silence_does_not_pay_for_work_of_which_the_newest_verdict_is_no() -> None:
    back = judgement.verdict_given(submitted(), "not_verified", NOW, TERMS).claim
    again = working.submit(back, NOW, TERMS, "sha256:2").claim
    assert (again.verdict, again.last_verdict) == ("", "not_verified")
    moves, ended = lived(again)
    assert ended.state is S.REFUNDED
    assert [moved.event for moved in moves] == [OPERATOR_ASKED, "clock:review_lapsed", "refund_settled"]


@pytest.mark.parametrize("answer", ["verified", "unclear"])
def test_a_verdict_after_the_review_time_lets_the_silence_before_it_count(answer: str) -> None:
    back = judgement.verdict_given(submitted(), "not_verified", NOW, TERMS).claim
    again = working.submit(back, NOW, TERMS, "sha256:2").claim
    (asked,) = clock(again, NOW + REVIEW_MS, TERMS)
    judged = judgement.verdict_given(asked.claim, answer, NOW + REVIEW_MS + HOUR_MS, TERMS).claim
    assert judged.wake_ms == NOW + REVIEW_MS
    assert events(judged, NOW + REVIEW_MS + HOUR_MS) == ["clock:review_ended"]


def test_a_change_request_that_nobody_answers_is_declined_and_then_refunded() -> None:
    moves, ended = lived(claim_in(S.CHANGES_REQUESTED))
    assert [moved.event for moved in moves] == ["clock:revise_ended", "clock:appeal_ended", "refund_settled"]
    assert (ended.declined_by, ended.ended_at_ms) == ("clock", NOW + DAY_MS + 72 * HOUR_MS)


def test_verified_work_that_is_not_changed_in_time_is_verified_again_and_paid_by_silence() -> None:
    """Nobody who is away for the time of a revision loses what a machine has verified."""
    verified = judgement.verdict_given(submitted(), "verified", NOW, TERMS).claim
    asked = judgement.request_changes(verified, ("C1",), "shorter", NOW + HOUR_MS, criteria={"C1"}).claim
    moves, ended = lived(asked)
    assert [moved.event for moved in moves] == ["clock:revise_ended", "clock:review_ended", "release_settled"]
    assert (moves[0].claim.state, ended.declined_by) == (S.VERIFIED, "")
    assert ended.ended_at_ms == max(verified.review_ends_at_ms or 0, NOW + HOUR_MS + 2 * DAY_MS)


def test_a_clock_that_comes_late_gives_the_whole_time_to_appeal() -> None:
    much_later = NOW + 50 * DAY_MS
    (moved,) = clock(claim_in(S.CHANGES_REQUESTED), much_later, TERMS)
    assert moved.claim.appeal_ends_at_ms == much_later + 72 * HOUR_MS


def test_a_clock_that_comes_late_takes_all_steps_that_are_due_in_order() -> None:
    claim = with_wake(replace(submitted(), acceptance="machine"))
    assert events(claim, NOW + 100 * DAY_MS) == [OPERATOR_ASKED, "clock:review_lapsed"]


@pytest.mark.parametrize(
    ("last", "event", "parts"),
    [
        ("verified", "clock:ruling_default_pay", (None, None)),
        ("unclear", "clock:ruling_default_pay", (5_000_000, 5_000_000)),
        ("", "clock:ruling_default_pay", (5_000_000, 5_000_000)),
        ("not_verified", "clock:ruling_default_refund", (None, None)),
    ],
)
def test_the_last_machine_verdict_decides_a_dispute_after_21_days(
    last: str, event: str, parts: tuple[int | None, int | None]
) -> None:
    claim = with_wake(replace(disputed(), last_verdict=last))
    assert claim.wake_ms == NOW + 21 * DAY_MS
    (moved,) = clock(claim, NOW + 21 * DAY_MS, TERMS)
    assert (moved.event, moved.claim.frozen) == (event, "")
    assert (moved.claim.settlement_seller_micro, moved.claim.settlement_buyer_micro) == parts


@pytest.mark.parametrize(
    ("amount", "parts"),
    [(0, (None, None)), (1, (None, None)), (2, (1, 1)), (3, (2, 1)), (9 * 10**15, (45 * 10**14,) * 2)],
)
def test_a_default_split_gives_the_odd_micro_to_the_seller(amount: int, parts: tuple[int | None, int | None]) -> None:
    (moved,) = clock(replace(disputed(), amount_micro=amount), NOW + 21 * DAY_MS, TERMS)
    assert (moved.claim.settlement_seller_micro, moved.claim.settlement_buyer_micro) == parts


@pytest.mark.parametrize("now_ms", [-(10**18), -1, 0, NOW])
def test_before_its_time_the_clock_does_nothing(now_ms: int) -> None:
    for state in ClaimState:
        assert clock(claim_in(state), now_ms, TERMS) == ()


def test_at_the_end_of_all_time_no_claim_is_left_without_an_answer() -> None:
    for state in ClaimState:
        claim = claim_in(state)
        assert (clock(claim, 2**62, TERMS) != ()) == (deadline(claim) is not None)


def test_money_and_reviews_wake_a_claim_that_has_ended() -> None:
    released = claim_in(S.RELEASED)
    assert released.wake_ms == released.clears_at_ms == NOW + DAY_MS
    cleared = ending.earnings_cleared(released)
    assert cleared.wake_ms == cleared.reviews_close_at_ms == NOW + 14 * DAY_MS
    assert with_wake(replace(cleared, reviews_published_at_ms=NOW)).wake_ms is None


def test_overdue_and_due_soon_are_exact_to_the_second() -> None:
    claim = opened(work_s=100)
    flags = {
        left: (
            is_overdue(claim, NOW + (100 - left) * 1_000),
            NOW + (100 - left) * 1_000 >= due_soon_at_ms(claim),
        )
        for left in (26, 25, 24, 1, 0, -1)
    }
    assert flags == {
        26: (False, False),
        25: (False, False),
        24: (False, True),
        1: (False, True),
        0: (True, True),
        -1: (True, True),
    }
    assert not is_overdue(submitted(), NOW + 90 * DAY_MS)
