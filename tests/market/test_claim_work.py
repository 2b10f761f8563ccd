"""May a claim be opened, worked, handed in and left, and on which terms?"""

import pytest

from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, HOUR_MS
from earnest.market.claims import extension, judgement, working
from earnest.market.claims.claim import Actor, Claim, ClaimState, role_of
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import with_wake
from earnest.market.claims.moving import ClaimTransition
from earnest.market.jobs.job import JobState

from .claims import BUYER, CRITERIA, NOW, SELLER, TERMS, a_job, claim_in, opened, submitted

S = ClaimState
DUE = NOW + DAY_MS


def refusal(attempt: object) -> Refused:
    with pytest.raises(Refused) as refused:
        attempt()  # type: ignore[operator]
    return refused.value


def test_a_claim_takes_over_the_terms_of_its_job() -> None:
    claim = opened(amount_micro=10_000_019, grace_s=60, revisions_max=1, auto_extend=True)
    assert (claim.seller, claim.buyer, claim.amount_micro, claim.fee_micro) == (SELLER, BUYER, 10_000_019, 500_000)
    assert (claim.start_at_ms, claim.due_at_ms, claim.grace_ends_at_ms) == (NOW, DUE, DUE + 60_000)
    assert (claim.revisions_left, claim.auto_extend, claim.wake_ms) == (1, True, DUE + 60_000)


def test_a_claim_is_due_no_later_than_its_job() -> None:
    assert opened(deadline_at_ms=NOW + HOUR_MS).due_at_ms == NOW + HOUR_MS


@pytest.mark.parametrize(
    ("changes", "seller", "code"),
    [
        ({"state": JobState.TAKEN}, SELLER, "job_already_claimed"),
        ({"state": JobState.DONE}, SELLER, "job_already_claimed"),
        ({"state": JobState.WITHDRAWN}, SELLER, "job_withdrawn"),
        ({"state": JobState.LAPSED}, SELLER, "job_withdrawn"),
        ({"closes_at_ms": NOW}, SELLER, "job_withdrawn"),
        ({"deadline_at_ms": NOW}, SELLER, "job_withdrawn"),
        ({"apply_until_ms": NOW + 1_000}, SELLER, "claim_state"),
        ({}, BUYER, "related_party"),
    ],
)
def test_a_job_that_cannot_be_claimed_says_why(changes: dict[str, object], seller: str, code: str) -> None:
    assert refusal(lambda: working.open_claim("clm_1", a_job(**changes), seller, NOW)).code == code


def test_the_sides_of_a_claim_are_told_apart_and_nobody_else_is_one() -> None:
    claim = opened()
    assert role_of(claim, SELLER) is Actor.SELLER
    assert role_of(claim, BUYER, Actor.BUYER, Actor.SELLER) is Actor.BUYER
    assert refusal(lambda: role_of(claim, "act_other")).code == "not_a_party"
    assert refusal(lambda: role_of(claim, SELLER, Actor.BUYER)).code == "not_a_party"


@pytest.mark.parametrize(("after_ms", "late"), [(DAY_MS - 1_000, False), (DAY_MS, True), (2 * DAY_MS - 1_000, True)])
def test_evidence_is_taken_until_grace_ends_and_is_late_from_the_deadline_on(after_ms: int, late: bool) -> None:
    moved = working.submit(opened(), NOW + after_ms, TERMS, "sha256:1")
    assert moved.claim.late is late
    assert [signal.kind for signal in moved.signals] == (["late"] if late else [])
    assert moved.claim.review_ends_at_ms == NOW + after_ms + 72 * HOUR_MS


def test_evidence_after_grace_comes_too_late() -> None:
    assert refusal(lambda: working.submit(opened(), NOW + 2 * DAY_MS, TERMS, "sha256:1")).code == "claim_expired"


def test_a_revision_is_taken_until_its_own_deadline_and_is_never_late() -> None:
    sent_back = claim_in(S.CHANGES_REQUESTED)
    moved = working.submit(sent_back, NOW + DAY_MS - 1_000, TERMS, "sha256:2")
    assert (moved.claim.revision, moved.claim.submissions, moved.claim.late, moved.signals) == (2, 1, False, ())
    assert (moved.claim.verdict, moved.claim.revise_by_ms, moved.claim.evidence_root) == ("", None, "sha256:2")
    refused = refusal(lambda: working.submit(sent_back, NOW + DAY_MS, TERMS, "sha256:2"))
    assert refused.details["state"] == "declined"


def test_evidence_is_replaced_twice_while_nobody_has_judged_it() -> None:
    claim = submitted()
    for revision in (2, 3):
        claim = working.submit(claim, NOW + revision * 1_000, TERMS, f"sha256:{revision}").claim
        assert claim.revision == revision
        assert claim.review_ends_at_ms == NOW + revision * 1_000 + 72 * HOUR_MS
    assert refusal(lambda: working.submit(claim, NOW, TERMS, "sha256:4")).code == "limit_reached"


def test_judged_evidence_is_not_replaced() -> None:
    unclear = judgement.verdict_given(submitted(), "unclear", NOW, TERMS).claim
    assert refusal(lambda: working.submit(unclear, NOW, TERMS, "sha256:2")).code == "claim_state"


def test_late_evidence_counts_once_however_often_it_is_replaced() -> None:
    late = working.submit(opened(), DUE, TERMS, "sha256:1").claim
    again = working.submit(late, DUE, TERMS, "sha256:2")
    assert (again.claim.late, again.signals) == (True, ())


@pytest.mark.parametrize(
    ("state", "now_ms", "to", "kind"),
    [
        (S.CLAIMED, NOW, S.CANCELLED, "early_cancel"),
        (S.IN_PROGRESS, DUE - 1_000, S.CANCELLED, "early_cancel"),
        (S.IN_PROGRESS, DUE, S.CANCELLED, "late_cancel"),
        (S.CHANGES_REQUESTED, NOW, S.REFUNDING, "withdrew"),
    ],
)
def test_a_seller_who_gives_up_is_marked_by_when(state: S, now_ms: int, to: S, kind: str) -> None:
    moved = working.cancel(claim_in(state), now_ms)
    assert (moved.claim.state, [signal.kind for signal in moved.signals]) == (to, [kind])


def test_a_new_claim_wakes_when_its_state_would_end() -> None:
    claim = opened()
    assert claim.wake_ms == claim.grace_ends_at_ms
    assert with_wake(claim) is claim


def test_between_related_parties_a_mark_weighs_nothing() -> None:
    claim = working.open_claim("clm_1", a_job(), SELLER, NOW, related=True)
    (signal,) = working.cancel(claim, NOW).signals
    assert (signal.id, signal.account_id, signal.weight) == ("clm_1/early_cancel", SELLER, 0)


def test_a_buyer_takes_back_only_what_is_neither_started_nor_overdue() -> None:
    assert working.buyer_cancel(opened(), DUE - 1_000).claim.state is S.CANCELLED
    assert refusal(lambda: working.buyer_cancel(opened(), DUE)).code == "claim_state"
    assert refusal(lambda: working.buyer_cancel(claim_in(S.IN_PROGRESS), NOW)).code == "claim_state"


def test_calling_it_off_takes_both_sides() -> None:
    asked = working.ask_mutual_cancel(claim_in(S.IN_PROGRESS), Actor.SELLER, NOW)
    assert (asked.event, asked.claim.state) == ("cancel_asked", S.IN_PROGRESS)
    again = working.ask_mutual_cancel(asked.claim, Actor.SELLER, NOW)
    assert again.claim.state is S.IN_PROGRESS, "one side cannot ask for both"
    both = working.ask_mutual_cancel(asked.claim, Actor.BUYER, NOW)
    assert (both.event, both.claim.state, both.signals) == ("mutual_cancel", S.CANCELLED, ())


def test_work_that_is_handed_in_answers_the_wish_to_call_it_off() -> None:
    asked = working.ask_mutual_cancel(claim_in(S.IN_PROGRESS), Actor.BUYER, NOW).claim
    handed_in = working.submit(asked, NOW, TERMS, "sha256:1").claim
    assert handed_in.cancel_asked_by is None


def test_a_buyer_refunds_from_the_deadline_on() -> None:
    assert refusal(lambda: working.buyer_refund(opened(), DUE - 1_000)).code == "claim_state"
    moved = working.buyer_refund(opened(), DUE)
    assert (moved.claim.state, moved.signals[0].kind) == (S.EXPIRED, "missed_deadline")


def test_an_expired_claim_says_so_to_whoever_still_tries() -> None:
    expired = claim_in(S.EXPIRED)
    for attempt in (
        lambda: working.start(expired, NOW),
        lambda: working.submit(expired, NOW, TERMS, "sha256:1"),
        lambda: judgement.accept(expired, NOW),
        lambda: judgement.decline(expired, ["C1"], "no", NOW, TERMS, criteria=CRITERIA),
    ):
        assert refusal(attempt).code == "claim_expired"


def extended(claim: Claim, seconds: int, now_ms: int = NOW) -> ClaimTransition:
    return extension.ask_extension(claim, seconds, now_ms, TERMS)


def test_the_policy_extends_once_by_up_to_a_quarter() -> None:
    claim = opened(auto_extend=True)
    moved = extended(claim, 21_600)
    assert moved.event == "grant_extension"
    assert (moved.claim.due_at_ms, moved.claim.start_at_ms) == (DUE + 6 * HOUR_MS, NOW)
    assert moved.claim.wake_ms == moved.claim.grace_ends_at_ms == DUE + 6 * HOUR_MS + DAY_MS
    assert extended(moved.claim, 1).event == "extension_asked"


def test_a_quarter_is_rounded_down_to_whole_seconds() -> None:
    claim = opened(auto_extend=True, work_s=103)
    assert extension.policy_max_s(claim, TERMS) == 25
    assert extended(claim, 25).event == "grant_extension"
    assert extended(claim, 26).event == "extension_asked"


def test_without_a_policy_the_buyer_answers() -> None:
    asked = extended(opened(), 3_600)
    assert (asked.event, asked.claim.due_at_ms) == ("extension_asked", DUE)
    granted = extension.grant_extension(asked.claim, NOW)
    assert (granted.claim.due_at_ms, granted.claim.extension_asked_at_ms) == (DUE + HOUR_MS, None)
    refused = extension.refuse_extension(asked.claim, NOW)
    assert (refused.claim.due_at_ms, refused.claim.extension_asked_at_ms) == (DUE, None)


@pytest.mark.parametrize("answer", [extension.grant_extension, extension.refuse_extension])
def test_only_what_was_asked_is_answered(answer: object) -> None:
    assert refusal(lambda: answer(opened(), NOW)).code == "claim_state"  # type: ignore[operator]


def test_an_extension_is_asked_for_before_the_deadline_only_and_silence_is_no() -> None:
    assert refusal(lambda: extended(opened(auto_extend=True), 60, DUE)).code == "claim_state"
    asked = extended(opened(), 3_600).claim
    assert clock(asked, DUE + DAY_MS, TERMS)[-1].claim.state is S.EXPIRED


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(0, "validation"), (-60, "validation"), (2**62, "limit_reached"), (7_776_000, "limit_reached")],
)
def test_an_extension_is_within_bounds(seconds: int, code: str) -> None:
    assert refusal(lambda: extended(opened(auto_extend=True), seconds)).code == code


def test_work_that_was_sent_back_is_not_extended() -> None:
    assert refusal(lambda: extended(claim_in(S.CHANGES_REQUESTED), 60)).code == "claim_state"
