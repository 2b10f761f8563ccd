"""Who may say that work is good or not, what follows, and what does a dispute change?"""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, HOUR_MS
from earnest.market.claims import contest, ending, judgement, working
from earnest.market.claims.claim import TERMINAL, Actor, Claim, ClaimState
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import with_wake
from earnest.market.claims.ending import RETRY_MAX_S
from earnest.market.claims.moving import ClaimTransition
from earnest.market.homes.priority import due_soon_at_ms

from .claims import CRITERIA, NOW, TERMS, accepted, claim_in, conceded, declined, disputed, submitted

S = ClaimState


def refusal(attempt: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as refused:
        attempt()
    return refused.value


def judged(acceptance: str, answer: str, revisions_left: int = 2) -> ClaimTransition:
    claim = replace(submitted(), acceptance=acceptance, revisions_left=revisions_left)
    return judgement.verdict_given(claim, answer, NOW, TERMS, failed=["C2"], reason="because")


@pytest.mark.parametrize(
    ("acceptance", "answer", "left", "event", "state", "asked"),
    [
        ("machine", "verified", 2, "verifier_pass_final", S.RELEASING, False),
        ("buyer", "verified", 2, "verifier_pass", S.VERIFIED, False),
        ("proposer", "verified", 0, "verifier_pass", S.VERIFIED, False),
        ("human", "verified", 2, "verifier_pass", S.VERIFIED, True),
        *[(a, "not_verified", 1, "verifier_fail", S.CHANGES_REQUESTED, False) for a in ("machine", "buyer", "human")],
        *[(a, "not_verified", 0, "verifier_fail_final", S.DECLINED, False) for a in ("machine", "buyer", "human")],
        ("machine", "unclear", 0, "verifier_unclear", S.SUBMITTED, True),
        ("human", "unclear", 2, "verifier_unclear", S.SUBMITTED, True),
        ("buyer", "unclear", 0, "verifier_unclear", S.SUBMITTED, False),
        ("proposer", "unclear", 2, "verifier_unclear", S.SUBMITTED, False),
    ],
)
def test_a_machine_verdict_leads_where_the_acceptance_says(
    acceptance: str, answer: str, left: int, event: str, state: S, asked: bool
) -> None:
    moved = judged(acceptance, answer, revisions_left=left)
    assert (moved.event, moved.claim.state, moved.claim.escalated) == (event, state, asked)
    assert (moved.claim.verdict, moved.claim.last_verdict, moved.signals) == (answer, answer, ())


def test_what_the_poster_made_unclear_is_paid_by_silence_and_neither_declined_nor_given_back() -> None:
    claim = replace(submitted(), acceptance="machine")
    theirs = judgement.verdict_given(claim, "unclear", NOW, TERMS, by_poster=True).claim
    (paid,) = clock(theirs, theirs.review_ends_at_ms or 0, TERMS)
    assert (paid.event, paid.claim.state) == ("clock:review_ended", S.RELEASING)
    for step in (
        lambda: judgement.decline(theirs, ["C1"], "no", NOW, TERMS, criteria=CRITERIA),
        lambda: judgement.human_fail(theirs, ["C1"], "no", NOW, TERMS, criteria=CRITERIA),
    ):
        assert refusal(step).code == "claim_state"
    ours = judgement.verdict_given(claim, "unclear", NOW, TERMS).claim
    (lapsed,) = clock(ours, (ours.unjudged_at_ms or 0), TERMS)
    assert (lapsed.event, lapsed.claim.state) == ("clock:review_lapsed", S.REFUNDING)
    human = judgement.verdict_given(replace(claim, acceptance="human"), "unclear", NOW, TERMS, by_poster=True).claim
    assert human.escalated, "people decide what people were to decide"


def test_a_failed_verdict_lists_what_failed_and_costs_a_revision() -> None:
    claim = judged("machine", "not_verified").claim
    assert (json.loads(claim.cited), claim.reason, claim.revisions_left) == (["C2"], "because", 1)
    assert (claim.start_at_ms, claim.due_at_ms, claim.revise_by_ms) == (NOW, NOW + DAY_MS, NOW + DAY_MS)


def test_a_verdict_after_unclear_still_counts() -> None:
    unclear = judged("machine", "unclear").claim
    assert judgement.verdict_given(unclear, "verified", NOW, TERMS).claim.state is S.RELEASING


def test_what_is_no_answer_is_no_verdict() -> None:
    with pytest.raises(ValueError, match="VERIFIED!"):
        judgement.verdict_given(submitted(), "VERIFIED!", NOW, TERMS)


@pytest.mark.parametrize("cited", [[], ["C9"], ["C1", "C9"], ["x" * 10_000]])
def test_a_no_cites_criteria_of_the_claim(cited: list[str]) -> None:
    human = replace(submitted(), acceptance="human")
    for attempt in (
        lambda: judgement.request_changes(submitted(), cited, "", NOW, criteria=CRITERIA),
        lambda: judgement.decline(submitted(), cited, "", NOW, TERMS, criteria=CRITERIA),
        lambda: judgement.human_fail(human, cited, "", NOW, TERMS, criteria=CRITERIA),
    ):
        refused = refusal(attempt)
        assert refused.code == "criterion_required"
        assert len(str(refused)) < 300


def test_changes_are_asked_for_only_while_revisions_are_left() -> None:
    claim = submitted(revisions_max=1)
    back = judgement.request_changes(claim, ["C1"], "more", NOW, criteria=CRITERIA).claim
    again = working.submit(back, NOW, TERMS, "sha256:2").claim
    assert (
        refusal(lambda: judgement.request_changes(again, ["C1"], "more", NOW, criteria=CRITERIA)).code == "claim_state"
    )


def test_a_decline_leaves_the_money_for_72_hours() -> None:
    claim = declined()
    assert (claim.state, claim.declined_by, claim.appeal_ends_at_ms) == (S.DECLINED, "buyer", NOW + 72 * HOUR_MS)
    assert claim.wake_ms == claim.appeal_ends_at_ms


def test_verified_work_is_not_declined() -> None:
    attempt = refusal(lambda: judgement.decline(claim_in(S.VERIFIED), ["C1"], "", NOW, TERMS, criteria=CRITERIA))
    assert attempt.code == "claim_state"
    assert "decline" not in str(attempt.details["allowed_events"])


@pytest.mark.parametrize("verdict", ["", "unclear"])
@pytest.mark.parametrize("acceptance", ["machine", "human"])
def test_a_buyer_does_not_decline_what_others_accept(acceptance: str, verdict: str) -> None:
    claim = replace(submitted(), acceptance=acceptance, verdict=verdict)
    assert refusal(lambda: judgement.decline(claim, ["C1"], "", NOW, TERMS, criteria=CRITERIA)).code == "claim_state"


@pytest.mark.parametrize(
    ("acceptance", "escalated", "may"),
    [
        ("human", False, True),
        ("human", True, True),
        ("machine", True, True),
        ("machine", False, False),
        ("buyer", True, False),
        ("proposer", False, False),
    ],
)
def test_the_operator_judges_where_people_accept_or_the_machine_could_not(
    acceptance: str, escalated: bool, may: bool
) -> None:
    claim = replace(submitted(), acceptance=acceptance, escalated=escalated)
    attempts: tuple[Callable[[], ClaimTransition], ...] = (
        lambda: judgement.human_pass(claim, "", NOW),
        lambda: judgement.human_fail(claim, ["C1"], "", NOW, TERMS, criteria=CRITERIA),
    )
    for attempt, state in zip(attempts, (S.RELEASING, S.DECLINED), strict=True):
        if may:
            assert attempt().claim.state is state
        else:
            assert refusal(attempt).code == "claim_state"


def test_work_comes_too_late_for_a_verdict_once_silence_has_released_it() -> None:
    ends_ms = NOW + 72 * HOUR_MS
    refused = refusal(lambda: judgement.verdict_given(submitted(), "not_verified", ends_ms, TERMS))
    assert refused.details["state"] == "releasing"


@pytest.mark.parametrize("role", [Actor.SELLER, Actor.BUYER])
@pytest.mark.parametrize("state", [S.SUBMITTED, S.VERIFIED, S.CHANGES_REQUESTED, S.DECLINED])
def test_a_dispute_that_is_withdrawn_gives_back_what_was_left_of_the_time(state: S, role: Actor) -> None:
    before = claim_in(state)
    assert before.wake_ms is not None
    stopped = contest.dispute_confirmed(before, role, "dsp_1", NOW + 21 * DAY_MS, NOW).claim
    assert stopped.wake_ms == NOW + 21 * DAY_MS
    assert clock(stopped, NOW + 20 * DAY_MS, TERMS) == ()
    resumed = contest.dispute_withdrawn(stopped, NOW + 10 * DAY_MS, TERMS).claim
    assert resumed.state is state
    assert resumed.wake_ms == before.wake_ms + 10 * DAY_MS
    assert (resumed.frozen, resumed.dispute_id) == ("", None)
    if state is S.CHANGES_REQUESTED:
        assert (resumed.start_at_ms, resumed.due_at_ms) == (NOW + 10 * DAY_MS, resumed.revise_by_ms)


@pytest.mark.parametrize("disputed_after_ms", [HOUR_MS, 4 * DAY_MS])
def test_work_that_waits_for_the_operator_resumes_with_both_its_times(disputed_after_ms: int) -> None:
    before = with_wake(replace(submitted(), acceptance="machine", escalated=True))
    disputed_ms = NOW + disputed_after_ms
    resumed = contest.dispute_withdrawn(disputed(before, opened_ms=disputed_ms), disputed_ms + DAY_MS, TERMS).claim
    assert resumed.review_ends_at_ms == NOW + 72 * HOUR_MS + DAY_MS
    assert resumed.wake_ms == resumed.unjudged_at_ms == NOW + 72 * HOUR_MS + 14 * DAY_MS + DAY_MS


@pytest.mark.parametrize(("left_s", "resumed_s"), [(1, 86_400), (86_399, 86_400), (86_400, 86_400), (86_401, 86_401)])
def test_a_claim_resumes_with_a_day_at_least(left_s: int, resumed_s: int) -> None:
    before = declined()
    assert before.appeal_ends_at_ms is not None
    disputed_ms = before.appeal_ends_at_ms - left_s * 1_000
    resumed_ms = disputed_ms + 5 * DAY_MS
    resumed = contest.dispute_withdrawn(disputed(before, opened_ms=disputed_ms), resumed_ms, TERMS).claim
    assert resumed.appeal_ends_at_ms == resumed_ms + resumed_s * 1_000


def test_a_short_revision_that_resumes_never_begins_in_the_future() -> None:
    back = judgement.request_changes(submitted(revise_s=60), ["C1"], "more", NOW, criteria=CRITERIA).claim
    resumed = contest.dispute_withdrawn(disputed(back), NOW + 1_000, TERMS).claim
    assert (resumed.start_at_ms, resumed.due_at_ms) == (NOW + 1_000, NOW + 1_000 + DAY_MS)
    assert due_soon_at_ms(resumed) > NOW + 1_000


@pytest.mark.parametrize("parts", [(0, 10_000_000), (10_000_000, 0), (-1, 10_000_001), (5_000_000, 5_000_001), (1, 2)])
def test_a_split_has_two_parts_that_add_up(parts: tuple[int, int]) -> None:
    assert refusal(lambda: contest.ruled_split(disputed(), *parts, NOW)).code == "validation"


def test_rulings_mark_the_seller_by_their_outcome() -> None:
    kinds = {
        moved.event: [signal.kind for signal in moved.signals]
        for moved in (
            contest.ruled_seller(disputed(), NOW),
            contest.ruled_buyer(disputed(), NOW),
            contest.ruled_split(disputed(), 1, 9_999_999, NOW),
        )
    }
    assert kinds == {"ruled_seller": [], "ruled_buyer": ["refunded"], "ruled_split": ["split"]}


def test_nobody_rules_after_the_hard_limit() -> None:
    late_ms = NOW + 21 * DAY_MS
    for attempt in (
        lambda: contest.ruled_buyer(disputed(), late_ms),
        lambda: contest.dispute_withdrawn(disputed(), late_ms, TERMS),
    ):
        assert refusal(attempt).details["state"] == "releasing"


def test_released_earnings_clear_after_a_day_and_reviews_close_after_two_weeks() -> None:
    moved = ending.settled(accepted(), NOW, TERMS)
    claim = moved.claim
    assert (claim.clears_at_ms, claim.reviews_close_at_ms) == (NOW + DAY_MS, NOW + 14 * DAY_MS)
    assert (claim.ended_at_ms, claim.settle_at_ms, [signal.kind for signal in moved.signals]) == (
        NOW,
        None,
        ["released"],
    )


def test_a_released_split_is_marked_by_its_ruling_alone() -> None:
    ruled = contest.ruled_split(disputed(), 1, 9_999_999, NOW).claim
    assert ending.settled(ruled, NOW, TERMS).signals == ()


def test_a_refund_opens_reviews_only_after_a_dispute() -> None:
    assert ending.settled(conceded(), NOW, TERMS).claim.wake_ms is None
    ruled = contest.ruled_buyer(disputed(), NOW).claim
    assert ending.settled(ruled, NOW, TERMS).claim.wake_ms == NOW + 14 * DAY_MS


def test_free_work_has_nothing_to_clear() -> None:
    free = replace(accepted(), amount_micro=0, fee_micro=0)
    assert ending.settled(free, NOW, TERMS).claim.clears_at_ms is None


@pytest.mark.parametrize("make", [accepted, conceded])
def test_what_cannot_be_settled_is_tried_again_less_and_less_often(make: Callable[[], Claim]) -> None:
    claim, waits = make(), []
    assert claim.wake_ms == NOW
    for tries in range(1, 40):
        claim = ending.settle_failed(claim, NOW).claim
        assert claim.wake_ms is not None
        waits.append((claim.wake_ms - NOW) // 1_000)
        assert claim.settle_tries == tries
    assert waits[:4] == [10, 20, 40, 80]
    assert waits == sorted(waits)
    assert waits[-1] == RETRY_MAX_S
    ended = ending.settled(claim, NOW, TERMS).claim
    assert ended.state in TERMINAL
