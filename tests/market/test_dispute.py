"""Does a case go where its table says, and nowhere else, and does time alone end it?"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS
from earnest.market.claims.claim import Claim
from earnest.market.disputes import dispute as rules
from earnest.market.disputes import ruling as rulings
from earnest.market.disputes.dispute import CLOSED, TRANSITIONS, Dispute, DisputeEvent, DisputeState
from earnest.market.disputes.ruling import For, Ruling
from earnest.market.settlement import Stake, stake_lost, stake_returned, stake_split
from earnest.market.terms import MICRO, USD

from .claims import BUYER, NOW, SELLER, TERMS, declined, disputed, submitted

S, E = DisputeState, DisputeEvent
CLAIM = disputed()


def ruling(in_favour: For, by: str = "act_op") -> Ruling:
    seller_micro = {For.SELLER: 10 * MICRO, For.BUYER: 0, For.SPLIT: 4 * MICRO}[in_favour]
    return Ruling(
        in_favour=in_favour,
        seller_micro=seller_micro,
        buyer_micro=10 * MICRO - seller_micro,
        criteria=("C1",),
        reason="so it is",
        by=by,
    )


def raised(claim: Claim | None = None, raiser: str = SELLER) -> Dispute:
    return rules.raised(claim or declined(), raiser, NOW, TERMS, dispute_id="dsp_1", reason="no", criteria="[]")


def opened() -> Dispute:
    return rules.stake_held(raised(), NOW, TERMS)


def answered() -> Dispute:
    return rules.spoken(opened(), BUYER, NOW)


def deliberated() -> Dispute:
    return rules.evidence_ended(opened())


def ruled(in_favour: For = For.BUYER) -> Dispute:
    return rulings.ruled(deliberated(), ruling(in_favour), NOW, TERMS)


def appealed() -> Dispute:
    return rulings.appealed(ruled(), CLAIM, SELLER, NOW)


IN_STATE: dict[DisputeState, Callable[[], Dispute]] = {
    S.STAKE_PENDING: raised,
    S.OPEN: opened,
    S.EVIDENCE: answered,
    S.DELIBERATION: deliberated,
    S.RULED: ruled,
    S.APPEAL: appealed,
    S.FINAL: lambda: rulings.ruled(appealed(), ruling(For.SELLER), NOW, TERMS),
    S.WITHDRAWN: lambda: rules.withdrawn(opened(), SELLER, NOW),
    S.VOID: lambda: rules.stake_missed(raised(), NOW),
}


def by_clock(event: DisputeEvent) -> Callable[[Dispute], Dispute]:
    def tick(dispute: Dispute) -> Dispute:
        past = rulings.clock(dispute, "", dispute.wake_ms or NOW)
        if past is None or past[0] is not event:
            raise Refused("dispute_state", "the clock does something else here, or nothing")
        return past[1]

    return tick


def at_limit(dispute: Dispute) -> Dispute:
    past = rulings.clock(dispute, "", dispute.hard_limit_ms)
    if past is None or past[0] is not E.LIMIT:
        raise Refused("dispute_state", "the limit means nothing here")
    return past[1]


DO: dict[DisputeEvent, Callable[[Dispute], Dispute]] = {
    E.STAKE_HELD: lambda dispute: rules.stake_held(dispute, NOW, TERMS),
    E.STAKE_MISSED: lambda dispute: rules.stake_missed(dispute, NOW),
    E.SAY: lambda dispute: rules.spoken(dispute, SELLER, NOW),
    E.ANSWER: lambda dispute: rules.spoken(dispute, BUYER, NOW),
    E.EVIDENCE_ENDED: rules.evidence_ended,
    E.WITHDRAW: lambda dispute: rules.withdrawn(dispute, SELLER, NOW),
    E.RULE: lambda dispute: rulings.ruled(dispute, ruling(For.BUYER), NOW, TERMS),
    E.APPEAL: lambda dispute: rulings.appealed(dispute, CLAIM, SELLER, NOW),
    E.APPEAL_ENDED: by_clock(E.APPEAL_ENDED),
    E.LIMIT: at_limit,
}


@pytest.mark.parametrize("event", DisputeEvent)
@pytest.mark.parametrize("state", DisputeState)
def test_a_case_takes_the_steps_of_its_table_and_no_other(state: DisputeState, event: DisputeEvent) -> None:
    before = IN_STATE[state]()
    assert before.state is state
    target = TRANSITIONS.get((state, event))
    if target is not None:
        assert DO[event](before).state is target
        return
    with pytest.raises(Refused) as refused:
        DO[event](before)
    assert refused.value.code == "dispute_state"


def test_the_page_of_disputes_has_the_same_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "disputes.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| `")]
    written = {
        (source, event, target)
        for sources, events, targets in rows
        for source in re.findall(r"`(\w+)`", sources)
        for event in re.findall(r"`(\w+)`", events)
        for target in re.findall(r"`(\w+)`", targets)
    }
    table = {(source.value, event.value, target.value) for (source, event), target in TRANSITIONS.items()}
    assert {row for row in written if row[0] in set(DisputeState)} == table


@pytest.mark.parametrize("state", DisputeState)
@pytest.mark.parametrize("verdict", ["", "verified", "not_verified", "unclear"])
def test_time_alone_ends_every_case_within_its_limit(state: DisputeState, verdict: str) -> None:
    dispute = IN_STATE[state]()
    now_ms = NOW
    if state is S.STAKE_PENDING:
        dispute = rules.stake_missed(dispute, dispute.stake_by_ms)
    for _ in range(10):
        if dispute.wake_ms is None:
            break
        assert dispute.wake_ms > now_ms or rulings.clock(dispute, verdict, dispute.wake_ms) is not None
        now_ms = dispute.wake_ms
        past = rulings.clock(dispute, verdict, now_ms)
        assert past is not None, "the clock woke for nothing"
        dispute = past[1]
    assert dispute.state in CLOSED
    assert dispute.wake_ms is None
    assert dispute.awaiting == ""
    assert dispute.closed_at_ms is not None
    assert now_ms <= NOW + 21 * DAY_MS


@pytest.mark.parametrize(
    ("amount_micro", "stake"),
    [
        (0, MICRO),
        (5 * MICRO, MICRO),
        (10 * MICRO, MICRO),
        (10 * MICRO + 19, MICRO + 1),
        (123_456_789, 12_345_678),
        (500 * MICRO, 50 * MICRO),
        (9 * 10**15, 50 * MICRO),
    ],
)
def test_the_stake_is_a_tenth_within_its_bounds(amount_micro: int, stake: int) -> None:
    assert rules.stake_micro(amount_micro, USD) == stake


def test_a_case_below_the_floor_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        raised(replace(declined(), amount_micro=5 * MICRO - 1))
    assert refused.value.code == "below_dispute_floor"
    assert raised(replace(declined(), amount_micro=5 * MICRO)).stake_micro == MICRO


def test_a_machine_that_decides_is_heard_first() -> None:
    claim = submitted(acceptance="machine")
    with pytest.raises(Refused) as refused:
        raised(claim, BUYER)
    assert refused.value.code == "claim_state"
    assert raised(replace(claim, verdict="unclear"), BUYER).raiser == BUYER
    assert raised(submitted(), BUYER).respondent == SELLER


def test_each_side_says_three_things_and_then_the_case_is_deliberated() -> None:
    dispute = opened()
    for author in (SELLER, SELLER, SELLER):
        dispute = rules.spoken(dispute, author, NOW)
    assert (dispute.state, dispute.awaiting) == (S.OPEN, "respondent")
    with pytest.raises(Refused) as refused:
        rules.spoken(dispute, SELLER, NOW)
    assert refused.value.code == "limit_reached"
    dispute = rules.spoken(dispute, BUYER, NOW)
    assert (dispute.state, dispute.awaiting) == (S.EVIDENCE, ""), "the raiser has no word left to answer with"
    dispute = rules.spoken(rules.spoken(dispute, BUYER, NOW), BUYER, NOW)
    assert (dispute.state, dispute.awaiting, dispute.respond_by_ms) == (S.DELIBERATION, "arbiter", None)


def test_whoever_is_spoken_to_at_the_last_moment_has_a_day_to_answer() -> None:
    late_ms = NOW + 5 * DAY_MS - 1_000
    dispute = rules.spoken(opened(), BUYER, late_ms)
    assert (dispute.awaiting, dispute.respond_by_ms) == ("raiser", late_ms + DAY_MS)
    assert rules.spoken(opened(), BUYER, NOW).respond_by_ms == NOW + 5 * DAY_MS


def test_what_is_said_is_unread_by_the_other_side_alone() -> None:
    dispute = rules.spoken(rules.spoken(opened(), SELLER, NOW), BUYER, NOW)
    assert (dispute.raiser_unread, dispute.respondent_unread) == (1, 2)
    assert rules.read_by(dispute, BUYER).respondent_unread == 0
    assert rules.read_by(dispute, SELLER).raiser_unread == 0
    assert rules.read_by(dispute, "act_op") == dispute


def test_only_who_raised_a_case_withdraws_it() -> None:
    with pytest.raises(Refused) as refused:
        rules.withdrawn(opened(), BUYER, NOW)
    assert refused.value.code == "not_a_party"


def test_silence_of_the_respondent_is_no_guilt() -> None:
    event, after = rulings.clock(opened(), "", NOW + 5 * DAY_MS) or (None, opened())
    assert (event, after.state, after.ruling) == (E.EVIDENCE_ENDED, S.DELIBERATION, "")


@pytest.mark.parametrize(
    ("in_favour", "party", "allowed"),
    [
        (For.BUYER, SELLER, True),
        (For.BUYER, BUYER, False),
        (For.SELLER, BUYER, True),
        (For.SELLER, SELLER, False),
        (For.SPLIT, SELLER, True),
        (For.SPLIT, BUYER, True),
    ],
)
def test_who_was_given_everything_has_nothing_to_appeal(in_favour: For, party: str, allowed: bool) -> None:
    if allowed:
        after = rulings.appealed(ruled(in_favour), CLAIM, party, NOW)
        assert after.stakes[-1].amount_micro == 2 * after.stakes[0].amount_micro
        assert after.stakes[-1].party == party
        return
    with pytest.raises(Refused) as refused:
        rulings.appealed(ruled(in_favour), CLAIM, party, NOW)
    assert refused.value.code == "dispute_state"


def test_the_time_for_an_appeal_never_passes_the_limit() -> None:
    before = deliberated()
    late = rulings.ruled(before, ruling(For.BUYER), before.hard_limit_ms - 1_000, TERMS)
    assert late.appeal_ends_at_ms == before.hard_limit_ms


def test_an_appeal_that_nobody_decides_leaves_the_first_ruling() -> None:
    dispute = appealed()
    _, after = rulings.clock(dispute, "verified", dispute.hard_limit_ms) or (None, dispute)
    assert after.state is S.FINAL
    assert rulings.read_ruling(after.ruling) == ruling(For.BUYER)


def resolved(dispute: Dispute) -> list[str]:
    """Which of three things became of each stake."""
    chain = rulings.stakes_resolved(dispute, CLAIM, NOW)
    words: list[str] = []
    for stake in dispute.stakes:
        ways = {"lost": stake_lost, "returned": stake_returned, "split": stake_split}
        words += [word for word, way in ways.items() if set(way(stake, NOW)) <= set(chain)]
    return words


def final(in_favour: For, *, by: str = "act_op", appeal_by: str = "", second: For | None = None) -> Dispute:
    first = rulings.ruled(deliberated(), ruling(in_favour, by), NOW, TERMS)
    if not appeal_by:
        return replace(first, state=S.FINAL)
    dispute = rulings.appealed(first, CLAIM, appeal_by, NOW)
    return replace(dispute, state=S.FINAL) if second is None else rulings.ruled(dispute, ruling(second), NOW, TERMS)


@pytest.mark.parametrize(
    ("dispute", "expected"),
    [
        (final(For.SELLER), ["returned"]),
        (final(For.BUYER), ["lost"]),
        (final(For.SPLIT), ["split"]),
        (final(For.BUYER, by="clock"), ["returned"]),
        (final(For.BUYER, appeal_by=SELLER, second=For.BUYER), ["lost", "lost"]),
        (final(For.BUYER, appeal_by=SELLER, second=For.SELLER), ["returned", "returned"]),
        (final(For.SELLER, appeal_by=BUYER, second=For.SELLER), ["returned", "lost"]),
        (final(For.SELLER, appeal_by=BUYER, second=For.BUYER), ["lost", "returned"]),
        (final(For.SELLER, appeal_by=BUYER, second=For.SPLIT), ["split", "split"]),
        (final(For.BUYER, appeal_by=SELLER), ["lost", "returned"]),
        (IN_STATE[S.WITHDRAWN](), ["returned"]),
    ],
)
def test_the_loser_pays_for_the_ruling_and_nobody_where_nobody_ruled(dispute: Dispute, expected: list[str]) -> None:
    assert resolved(dispute) == expected


@given(amount=st.integers(0, 9 * 10**15), verdict=st.sampled_from(["", "verified", "not_verified", "unclear"]))
def test_the_ruling_of_the_clock_gives_out_exactly_what_is_held(amount: int, verdict: str) -> None:
    found = rulings.default_ruling(amount, verdict)
    assert found.seller_micro + found.buyer_micro == amount
    if found.in_favour is For.SPLIT:
        assert 0 <= found.seller_micro - found.buyer_micro <= 1 <= found.buyer_micro
    assert rulings.read_ruling(rulings.ruling_text(found)) == found
    expected = {"verified": {For.SELLER}, "not_verified": {For.BUYER}}.get(verdict, {For.SPLIT, For.SELLER})
    assert found.in_favour in expected


KNOWN = frozenset({"C1", "C2"})


@pytest.mark.parametrize(
    ("vote", "code"),
    [
        (rulings.Vote(in_favour=For.SELLER, criteria=(), reason="x"), "criterion_required"),
        (rulings.Vote(in_favour=For.SELLER, criteria=("C1", "C3"), reason="x"), "criterion_required"),
        (rulings.Vote(in_favour=For.SPLIT, criteria=("C1",), reason="x"), "validation"),
        (
            rulings.Vote(in_favour=For.SPLIT, criteria=("C1",), reason="x", seller_micro=50, buyer_micro=49),
            "validation",
        ),
        (
            rulings.Vote(in_favour=For.SPLIT, criteria=("C1",), reason="x", seller_micro=100, buyer_micro=0),
            "validation",
        ),
        (
            rulings.Vote(in_favour=For.SPLIT, criteria=("C1",), reason="x", seller_micro=-1, buyer_micro=101),
            "validation",
        ),
        (rulings.Vote(in_favour=For.SELLER, criteria=("C1",), reason="x", seller_micro=99), "validation"),
        (rulings.Vote(in_favour=For.BUYER, criteria=("C1",), reason="x", seller_micro=1), "validation"),
    ],
)
def test_a_vote_that_does_not_fit_the_claim_is_refused(vote: rulings.Vote, code: str) -> None:
    with pytest.raises(Refused) as refused:
        rulings.ruling_of(vote, "act_op", 100, KNOWN)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("vote", "parts"),
    [
        (rulings.Vote(in_favour=For.SELLER, criteria=("C1",), reason="x"), (100, 0)),
        (rulings.Vote(in_favour=For.BUYER, criteria=("C2", "C1"), reason="x", buyer_micro=100), (0, 100)),
        (rulings.Vote(in_favour=For.SPLIT, criteria=("C1",), reason="x", seller_micro=1, buyer_micro=99), (1, 99)),
    ],
)
def test_a_vote_that_fits_is_a_ruling_over_the_whole_amount(vote: rulings.Vote, parts: tuple[int, int]) -> None:
    found = rulings.ruling_of(vote, "act_op", 100, KNOWN)
    assert (found.seller_micro, found.buyer_micro, found.by) == (*parts, "act_op")


def test_once_there_is_a_ruling_the_machine_decides_no_more() -> None:
    lifted = rulings.limit_lifted(CLAIM)
    assert lifted.state is CLAIM.state
    assert (lifted.wake_ms or 0) > NOW + 1_000 * 365 * DAY_MS


def test_a_stake_names_its_round_and_party() -> None:
    assert appealed().stakes == (
        Stake(dispute_id="dsp_1", round=1, party=SELLER, currency="USD", amount_micro=MICRO),
        Stake(dispute_id="dsp_1", round=2, party=SELLER, currency="USD", amount_micro=2 * MICRO),
    )


@given(steps=st.lists(st.tuples(st.sampled_from(list(E)), st.integers(0, 6 * DAY_MS // 1_000)), max_size=25))
def test_whatever_is_tried_a_case_keeps_its_bounds(steps: list[tuple[DisputeEvent, int]]) -> None:
    dispute, now_ms = opened(), NOW
    tries: dict[DisputeEvent, Callable[[Dispute, int], Dispute]] = {
        E.SAY: lambda case, at_ms: rules.spoken(case, SELLER, at_ms),
        E.ANSWER: lambda case, at_ms: rules.spoken(case, BUYER, at_ms),
        E.WITHDRAW: lambda case, at_ms: rules.withdrawn(case, SELLER, at_ms),
        E.RULE: lambda case, at_ms: rulings.ruled(case, ruling(For.SPLIT), at_ms, TERMS),
        E.APPEAL: lambda case, at_ms: rulings.appealed(case, CLAIM, BUYER, at_ms),
    }
    for event, wait_s in steps:
        now_ms += wait_s * 1_000
        while (past := rulings.clock(dispute, "", now_ms)) is not None:
            dispute = past[1]
        before = dispute
        try:
            dispute = tries[event](dispute, now_ms) if event in tries else dispute
        except Refused:
            assert dispute == before
        assert max(dispute.raiser_statements, dispute.respondent_statements) <= rules.STATEMENTS_MAX
        assert (dispute.wake_ms is None) == (dispute.state in CLOSED) == (dispute.closed_at_ms is not None)
        assert dispute.wake_ms is None or now_ms < dispute.wake_ms <= dispute.hard_limit_ms
        assert dispute.respond_by_ms is None or dispute.respond_by_ms <= dispute.hard_limit_ms
        assert (dispute.state is S.FINAL) <= bool(dispute.ruling)
        assert (dispute.awaiting == "arbiter") == (dispute.state in {S.DELIBERATION, S.APPEAL})
