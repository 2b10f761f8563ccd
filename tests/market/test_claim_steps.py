"""Is there one function for each step of the table, which takes it where it is legal and refuses it elsewhere?"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS
from earnest.market.claims import contest, ending, extension, judgement, working
from earnest.market.claims.claim import TERMINAL, Actor, Claim, ClaimState
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import with_wake
from earnest.market.claims.lifecycle import TRANSITIONS
from earnest.market.claims.moving import ClaimTransition

from .claims import CRITERIA, NOW, TERMS, claim_in

Try = Callable[[Claim], ClaimTransition]
LATER = NOW + DAY_MS
S = ClaimState


def asked_for_more(claim: Claim) -> Claim:
    return replace(claim, extension_asked_at_ms=NOW, extension_asked_s=60)


def both_cancel(claim: Claim) -> ClaimTransition:
    return working.ask_mutual_cancel(working.ask_mutual_cancel(claim, Actor.BUYER, NOW).claim, Actor.SELLER, NOW)


def by_policy(claim: Claim) -> ClaimTransition:
    return extension.ask_extension(replace(claim, auto_extend=True), 60, NOW, TERMS)


def by_clock(claim: Claim) -> ClaimTransition:
    return clock(claim, claim.wake_ms or NOW, TERMS)[-1]


def unjudged(claim: Claim) -> ClaimTransition:
    given_back_ms = NOW + (TERMS.auto_release_s + TERMS.unjudged_s) * 1_000
    return clock(with_wake(replace(claim, acceptance="machine")), given_back_ms, TERMS)[-1]


def judged_by_operator(claim: Claim, *, passed: bool) -> ClaimTransition:
    for_people = replace(claim, acceptance="human")
    if passed:
        return judgement.human_pass(for_people, "fine", NOW)
    return judgement.human_fail(for_people, ["C1"], "no", NOW, TERMS, criteria=CRITERIA)


def verdict(answer: str, **changes: object) -> Try:
    return lambda claim: judgement.verdict_given(replace(claim, **changes), answer, NOW, TERMS)  # type: ignore[arg-type]


def failed_before(claim: Claim) -> ClaimTransition:
    return by_clock(replace(claim, last_verdict="not_verified"))


STEPS: dict[str, Try] = {
    "start": lambda claim: working.start(claim, NOW),
    "submit_evidence": lambda claim: working.submit(claim, NOW, TERMS, "sha256:2"),
    "grant_extension": lambda claim: extension.grant_extension(asked_for_more(claim), NOW),
    "cancel": lambda claim: working.cancel(claim, NOW),
    "buyer_cancel": lambda claim: working.buyer_cancel(claim, NOW),
    "mutual_cancel": both_cancel,
    "buyer_refund": lambda claim: working.buyer_refund(claim, LATER),
    "clock:grace_ended": by_clock,
    "verifier_pass": verdict("verified"),
    "verifier_pass_final": verdict("verified", acceptance="machine"),
    "verifier_fail": verdict("not_verified"),
    "verifier_fail_final": verdict("not_verified", revisions_left=0),
    "verifier_unclear": verdict("unclear"),
    "human_pass": lambda claim: judged_by_operator(claim, passed=True),
    "human_fail": lambda claim: judged_by_operator(claim, passed=False),
    "accept": lambda claim: judgement.accept(claim, NOW),
    "request_changes": lambda claim: judgement.request_changes(claim, ["C1"], "more", NOW, criteria=CRITERIA),
    "decline": lambda claim: judgement.decline(claim, ["C1"], "no", NOW, TERMS, criteria=CRITERIA),
    "clock:review_ended": by_clock,
    "clock:review_lapsed": unjudged,
    "clock:revise_ended": by_clock,
    "clock:appeal_ended": by_clock,
    "concede": lambda claim: judgement.concede(claim, NOW),
    "undecline": lambda claim: judgement.undecline(claim, NOW),
    "dispute_confirmed": lambda claim: contest.dispute_confirmed(claim, Actor.BUYER, "dsp_1", LATER, NOW),
    "ruled_seller": lambda claim: contest.ruled_seller(claim, NOW),
    "ruled_buyer": lambda claim: contest.ruled_buyer(claim, NOW),
    "ruled_split": lambda claim: contest.ruled_split(claim, 4_000_000, 6_000_000, NOW),
    "dispute_withdrawn": lambda claim: contest.dispute_withdrawn(claim, NOW, TERMS),
    "clock:ruling_default_pay": by_clock,
    "clock:ruling_default_refund": failed_before,
    "release_settled": lambda claim: ending.settled(claim, NOW, TERMS),
    "release_failed": lambda claim: ending.settle_failed(claim, NOW),
    "refund_settled": lambda claim: ending.settled(claim, NOW, TERMS),
    "refund_failed": lambda claim: ending.settle_failed(claim, NOW),
}
LEGAL = sorted((row.event, source) for row in TRANSITIONS for source in row.sources)
ASKED_FOR = sorted(event for event in STEPS if not event.startswith("clock:"))
SETTLING = {"release_settled", "release_failed", "refund_settled", "refund_failed"}
ILLEGAL = [
    (event, state)
    for event in ASKED_FOR
    for state in ClaimState
    if (event, state) not in LEGAL and not (event in SETTLING and state in {S.RELEASING, S.REFUNDING})
]


def test_every_event_of_the_table_has_its_function() -> None:
    assert set(STEPS) == {row.event for row in TRANSITIONS}


@pytest.mark.parametrize(("event", "state"), LEGAL)
def test_each_function_takes_its_step_from_each_state_that_has_it(event: str, state: ClaimState) -> None:
    row = next(row for row in TRANSITIONS if row.event == event and state in row.sources)
    moved = STEPS[event](claim_in(state))
    assert moved.event == event
    assert moved.ledger == row.ledger
    expected = {"same": state, "previous": S.DECLINED}.get(row.target, row.target)
    assert moved.claim.state == expected
    assert moved.claim.wake_ms == with_wake(moved.claim).wake_ms


def test_the_policy_grants_an_extension_by_the_same_step() -> None:
    moved = by_policy(claim_in(S.CLAIMED))
    assert (moved.event, moved.actor) == ("grant_extension", Actor.POLICY)


@pytest.mark.parametrize(("event", "state"), ILLEGAL)
def test_each_function_refuses_its_step_in_every_other_state(event: str, state: ClaimState) -> None:
    with pytest.raises(Refused) as refused:
        STEPS[event](claim_in(state))
    assert refused.value.code == ("claim_expired" if state is S.EXPIRED else "claim_state")


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_what_has_ended_is_never_moved_by_the_clock(state: ClaimState) -> None:
    assert clock(claim_in(state), NOW + 10_000 * DAY_MS, TERMS) == ()


@pytest.mark.parametrize(("event", "state"), [pair for pair in LEGAL if pair[0] in ASKED_FOR])
def test_what_the_clock_owes_comes_before_any_other_step(event: str, state: ClaimState) -> None:
    if state in {S.RELEASING, S.REFUNDING}:
        return  # the ledger ends these, not the clock
    late = claim_in(state)
    assert late.wake_ms is not None
    instants = (
        "start_at_ms",
        "due_at_ms",
        "grace_ends_at_ms",
        "review_ends_at_ms",
        "unjudged_at_ms",
        "revise_by_ms",
        "appeal_ends_at_ms",
    )
    long_ago = {name: at_ms - 100 * DAY_MS for name in instants if (at_ms := getattr(late, name)) is not None}
    if late.frozen:
        late = replace(late, frozen=late.frozen.replace(f'"limit_ms": {NOW + 21 * DAY_MS}', f'"limit_ms": {NOW}'))
    with pytest.raises(Refused) as refused:
        STEPS[event](replace(late, **long_ago))
    assert refused.value.code in {"claim_expired", "claim_state"}
    assert refused.value.details.get("state") != state.value
