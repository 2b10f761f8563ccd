"""Each event's chain, as a table: what moves from where to where. Then all of them, by chance, through the ledger."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.ledger.rules import AMOUNT_MICRO_MAX, LedgerAccount, account_named, check, effect
from earnest.ledger.transfer import Chain, Transfer, available, clearing, escrow, external, fees, moved, stake, treasury
from earnest.market import settlement
from earnest.market.capabilities.capability import Trial
from earnest.market.claims.claim import Claim
from earnest.market.settlement import Stake
from earnest.market.terms import MICRO, Terms

from .claims import BUYER, NOW, SELLER, a_job, opened

TERMS = Terms()
JOB, CLAIM = a_job(), opened()
SPLIT = replace(CLAIM, settlement_seller_micro=3 * MICRO, settlement_buyer_micro=7 * MICRO)
AID_CLAIM = opened(currency="AID", fee_bps=0)
STAKE = Stake(dispute_id="dsp_1", round=1, party=BUYER, currency="USD", amount_micro=5)
TRIAL = Trial(
    id="job_test_1",
    account_id=SELLER,
    capability_id="cap_1",
    category="c",
    task_class="objective",
    generator="g",
    hidden=False,
    state="passed",
    question="{}",
    secret="{}",
    commitment="",
    model_fingerprint="",
    amount_micro=10_000,
    currency="AID",
    started_at_ms=NOW,
    expires_at_ms=NOW,
)

HOME, EARNED, ESCROW, FEES = available(BUYER, "USD"), clearing(SELLER, "USD"), escrow("job_1", "USD"), fees("USD")
SPENDABLE, TREASURY, POT = available(SELLER, "USD"), treasury("AID"), stake("dsp_1", "USD")
OURS, THEIRS = available(SELLER, "AID"), available(BUYER, "AID")

Row = tuple[str, str, str, int, str]

TABLE: dict[str, tuple[Chain, tuple[Row, ...]]] = {
    "funded": (settlement.funded(JOB, NOW), (("posted", HOME, ESCROW, 10_000_000, "funded"),)),
    "claimed": (
        settlement.claimed(CLAIM, NOW),
        (("pending", ESCROW, EARNED, 9_500_000, "held"), ("pending", ESCROW, FEES, 500_000, "fee_held")),
    ),
    "claimed, no fee": (
        settlement.claimed(AID_CLAIM, NOW),
        (("pending", escrow("job_1", "AID"), clearing(SELLER, "AID"), 10_000_000, "held"),),
    ),
    "released": (
        settlement.released(CLAIM, NOW),
        (("post", ESCROW, EARNED, 9_500_000, "released"), ("post", ESCROW, FEES, 500_000, "fee")),
    ),
    "voided": (
        settlement.voided(CLAIM, NOW),
        (("void", ESCROW, EARNED, 9_500_000, "unheld"), ("void", ESCROW, FEES, 500_000, "fee_unheld")),
    ),
    "split": (
        settlement.split(SPLIT, 500, NOW),
        (
            ("post", ESCROW, EARNED, 2_850_000, "released"),
            ("post", ESCROW, FEES, 150_000, "fee"),
            ("posted", ESCROW, HOME, 7_000_000, "refunded"),
        ),
    ),
    "closed": (settlement.closed(JOB, NOW), (("posted", ESCROW, HOME, 10_000_000, "refunded"),)),
    "cleared": (settlement.cleared(CLAIM, 500, NOW), (("posted", EARNED, SPENDABLE, 9_500_000, "cleared"),)),
    "cleared, split": (settlement.cleared(SPLIT, 500, NOW), (("posted", EARNED, SPENDABLE, 2_850_000, "cleared"),)),
    "stake held": (settlement.stake_held(STAKE, NOW), (("pending", HOME, POT, 5, "stake"),)),
    "stake lost": (
        settlement.stake_lost(STAKE, NOW),
        (("post", HOME, POT, 5, "stake_lost"), ("posted", POT, FEES, 5, "stake_fee")),
    ),
    "stake returned": (settlement.stake_returned(STAKE, NOW), (("void", HOME, POT, 5, "stake_returned"),)),
    "stake split": (
        settlement.stake_split(STAKE, NOW),
        (("post", HOME, POT, 2, "stake_lost"), ("posted", POT, FEES, 2, "stake_fee")),
    ),
    "stake of nothing": (settlement.stake_held(replace(STAKE, amount_micro=0), NOW), ()),
    "stake of nothing lost": (settlement.stake_lost(replace(STAKE, amount_micro=0), NOW), ()),
    "stake of one split": (
        settlement.stake_split(replace(STAKE, amount_micro=1), NOW),
        (("void", HOME, POT, 1, "stake_returned"),),
    ),
    "treasury": (
        settlement.treasury_opened(TERMS, NOW),
        (("posted", external("AID"), TREASURY, 10**13, "treasury"),),
    ),
    "genesis": (settlement.genesis(SELLER, TERMS, NOW), (("posted", TREASURY, OURS, 100 * MICRO, "genesis"),)),
    "trial": (settlement.trial_paid(TRIAL, NOW), (("posted", TREASURY, OURS, 10_000, "trial"),)),
    "bonus": (
        settlement.approved_bonus(AID_CLAIM, TERMS, NOW),
        (("posted", TREASURY, OURS, MICRO, "bonus"), ("posted", TREASURY, THEIRS, MICRO, "bonus")),
    ),
    "no bonus for dollars": (settlement.approved_bonus(CLAIM, TERMS, NOW), ()),
    "fine": (settlement.fined(AID_CLAIM, 7, 100, NOW), (("posted", OURS, TREASURY, 7, "penalty"),)),
    "fine beyond means": (settlement.fined(AID_CLAIM, 7, 3, NOW), (("posted", OURS, TREASURY, 3, "penalty"),)),
    "fine of the poor": (settlement.fined(AID_CLAIM, 7, 0, NOW), ()),
}


@pytest.mark.parametrize("event", TABLE)
def test_each_event_moves_what_the_table_says(event: str) -> None:
    chain, rows = TABLE[event]
    assert tuple((one.kind.value, one.debit, one.credit, one.amount_micro, one.reason) for one in chain) == rows
    assert {one.at_ms for one in chain} <= {NOW}


def test_every_transfer_of_a_market_has_an_id_of_its_own() -> None:
    held = [one.id for event in ("funded", "claimed", "cleared", "stake held", "bonus") for one in TABLE[event][0]]
    assert len(held) == len(set(held))


def test_the_ends_of_a_reservation_share_an_id_so_that_there_is_only_one() -> None:
    ids = {tuple(one.id for one in TABLE[event][0])[:2] for event in ("released", "voided", "split")}
    assert ids == {("clm_1/seller/end", "clm_1/fee/end")}


def test_an_appeal_is_staked_beside_the_case() -> None:
    appeal = replace(STAKE, round=2, party=SELLER, amount_micro=10)
    assert settlement.stake_held(appeal, NOW)[0].id != settlement.stake_held(STAKE, NOW)[0].id


@pytest.mark.parametrize("parts", [(None, None), (3, 6_999_998), (10_000_000, 0), (-1, 10_000_001)])
def test_a_split_that_is_none_is_refused(parts: tuple[int | None, int | None]) -> None:
    wrong = replace(CLAIM, settlement_seller_micro=parts[0], settlement_buyer_micro=parts[1])
    with pytest.raises(ValueError, match="do not divide"):
        settlement.split(wrong, 500, NOW)


def test_penalties_are_only_for_ai_dollars_and_capped() -> None:
    rich = replace(AID_CLAIM, amount_micro=1_000 * MICRO)
    assert settlement.fail_penalty_micro(CLAIM, TERMS) == settlement.proposer_penalty_micro(CLAIM, TERMS) == 0
    assert settlement.fail_penalty_micro(AID_CLAIM, TERMS) == MICRO
    assert settlement.proposer_penalty_micro(AID_CLAIM, TERMS) == MICRO
    assert settlement.proposer_penalty_micro(rich, TERMS) == 5 * MICRO


def test_what_a_gift_takes_from_the_treasury_is_known_before() -> None:
    assert settlement.treasury_needs_micro(TABLE["bonus"][0]) == 2 * MICRO
    assert settlement.treasury_needs_micro(TABLE["funded"][0]) == 0


@given(st.integers(0, AMOUNT_MICRO_MAX), st.integers(0, 10_000))
def test_fee_and_net_add_up_to_the_amount(amount: int, bps: int) -> None:
    fee = settlement.fee_micro(amount, bps)
    assert 0 <= fee <= amount
    assert 10_000 * fee <= amount * bps < 10_000 * (fee + 1)
    assert settlement.net_micro(opened(amount_micro=amount, fee_bps=bps), bps) == amount - fee


class Till:
    """All chains booked so far, checked by the ledger's own rules."""

    def __init__(self) -> None:
        self.known: dict[str, Transfer] = {}
        self.sums: dict[str, LedgerAccount] = {}

    def book(self, chain: Chain) -> None:
        check(chain, self.known, self.sums)
        for one in chain:
            held = self.known[one.pending_id] if one.pending_id else None
            posted, pending = effect(one.kind, one.amount_micro, held.amount_micro if held else 0)
            self._add(one.debit, -posted, pending)
            self._add(one.credit, posted, 0)
            self.known[one.id] = one
            if held is not None:
                self.known[held.id] = replace(held, resolved=one.kind.value)

    def have(self, name: str) -> int:
        return self.sums[name].balance_micro if name in self.sums else 0

    def _add(self, name: str, micro: int, pending: int) -> None:
        before = self.sums.get(name) or account_named(name)
        key = "credits_posted" if micro > 0 else "debits_posted"
        self.sums[name] = replace(
            before,
            **{key: getattr(before, key) + abs(micro)},
            debits_pending=before.debits_pending + pending,
        )


@given(
    amount=st.integers(1, AMOUNT_MICRO_MAX),
    bps=st.integers(0, 10_000),
    ends=st.sampled_from(["released", "split", "refunded"]),
    share=st.floats(0, 1),
    lapses=st.integers(0, 2),
)
def test_however_a_job_ends_its_escrow_is_empty_and_nothing_is_lost(
    amount: int, bps: int, ends: str, share: float, lapses: int
) -> None:
    till, job = Till(), a_job(amount_micro=amount, fee_bps=bps)
    till.book(moved("dep_1/in", external("USD"), HOME, amount, reason="deposit", at_ms=NOW))
    till.book(settlement.funded(job, NOW))
    for number in range(lapses):  # claimed, and open again
        gone = replace(opened(amount_micro=amount, fee_bps=bps), id=f"clm_gone_{number}")
        till.book(settlement.claimed(gone, NOW))
        till.book(settlement.voided(gone, NOW))
    claim = opened(amount_micro=amount, fee_bps=bps)
    till.book(settlement.claimed(claim, NOW))
    if ends == "split" and amount > 1:
        seller = min(max(1, int(amount * share)), amount - 1)
        claim = replace(claim, settlement_seller_micro=seller, settlement_buyer_micro=amount - seller)
        till.book(settlement.split(claim, bps, NOW))
    elif ends == "refunded":
        till.book(settlement.voided(claim, NOW))
        till.book(settlement.closed(job, NOW))
    else:
        till.book(settlement.released(claim, NOW))
    if ends != "refunded":
        till.book(settlement.cleared(claim, bps, NOW))
    _is_settled(till, claim, amount)


def _is_settled(till: Till, claim: Claim, amount: int) -> None:
    assert till.have(ESCROW) == till.have(EARNED) == 0
    assert till.sums[ESCROW].debits_pending == 0
    assert till.have(HOME) + till.have(SPENDABLE) + till.have(FEES) == amount
    assert till.have(external("USD")) == -amount
    assert till.have(HOME) == (
        claim.settlement_buyer_micro or (amount if till.have(SPENDABLE) + till.have(FEES) == 0 else 0)
    )
