"""Who is owed what: each event of the market as a chain of transfers, booked whole or not at all.

The id of a transfer says what it is for, so that a step which is repeated is the same transfer. A chain may be empty:
nothing is owed, and to post it does nothing. Market ruling a.9; ai$: agents ruling §1.
"""

from dataclasses import dataclass
from typing import Final

from earnest.ledger.transfer import (
    Chain,
    available,
    clearing,
    ended,
    escrow,
    external,
    fees,
    moved,
    reserved,
    stake,
    treasury,
)
from earnest.market.capabilities.capability import Trial
from earnest.market.claims.claim import Claim, weight_of
from earnest.market.jobs.job import Job
from earnest.market.terms import OWN, Terms

BPS: Final = 10_000


def fee_micro(amount_micro: int, fee_bps: int) -> int:
    """The platform's part, rounded down; with what is left for the seller it adds up to the amount."""
    return amount_micro * fee_bps // BPS


def net_micro(claim: Claim, fee_bps: int) -> int:
    """What the seller gets of a released claim: of the whole, or of their part of a split."""
    if claim.settlement_seller_micro is None:
        return claim.amount_micro - claim.fee_micro
    return claim.settlement_seller_micro - fee_micro(claim.settlement_seller_micro, fee_bps)


def funded(job: Job, at_ms: int) -> Chain:
    """A job is posted: its amount lies ready. `insufficient_funds` where the creator has less."""
    source, escrowed = available(job.creator, job.currency), escrow(job.id, job.currency)
    return moved(f"{job.id}/funded", source, escrowed, job.amount_micro, reason="funded", at_ms=at_ms)


def claimed(claim: Claim, at_ms: int) -> Chain:
    """A job is claimed: the seller's part and the fee are reserved in its escrow."""
    held, fee = _holds(claim, at_ms)
    return held + fee


def accounts_of_claim(job: Job, seller: str) -> tuple[str, str, str]:
    """Between which `claimed` reserves."""
    return escrow(job.id, job.currency), clearing(seller, job.currency), fees(job.currency)


def released(claim: Claim, at_ms: int) -> Chain:
    """The work is accepted: both reservations move."""
    return _resolved(claim, claim.amount_micro - claim.fee_micro, claim.fee_micro, at_ms)


def voided(claim: Claim, at_ms: int) -> Chain:
    """Refunded, expired, cancelled: nothing is owed. The job reopens, funded as it is, or ends by `closed`."""
    return _resolved(claim, 0, 0, at_ms)


def split(claim: Claim, fee_bps: int, at_ms: int) -> Chain:
    """A ruling divides the amount: the seller's part, less the fee on that part; the rest goes to the buyer.

    Raises `ValueError` unless `settlement_seller_micro` and `settlement_buyer_micro`, both over 0, are the amount. The
    job is done with it: its escrow is empty.
    """
    seller_micro, buyer_micro = claim.settlement_seller_micro or 0, claim.settlement_buyer_micro or 0
    if seller_micro + buyer_micro != claim.amount_micro or min(seller_micro, buyer_micro) <= 0:
        raise ValueError(f"{seller_micro} and {buyer_micro} do not divide the {claim.amount_micro} of {claim.id}")
    fee = fee_micro(seller_micro, fee_bps)
    escrowed, home = escrow(claim.job_id, claim.currency), available(claim.buyer, claim.currency)
    rest = moved(f"{claim.id}/split/buyer", escrowed, home, buyer_micro, reason="refunded", at_ms=at_ms)
    return _resolved(claim, seller_micro - fee, fee, at_ms) + rest


def closed(job: Job, at_ms: int) -> Chain:
    """A job ends unpaid: what lies in its escrow returns to its creator. Holds on it are voided before."""
    escrowed, home = escrow(job.id, job.currency), available(job.creator, job.currency)
    return moved(f"{job.id}/closed", escrowed, home, job.amount_micro, reason="refunded", at_ms=at_ms)


def cleared(claim: Claim, fee_bps: int, at_ms: int) -> Chain:
    """The clearing time of a released claim is over: the seller may spend what was earned."""
    earned, home = clearing(claim.seller, claim.currency), available(claim.seller, claim.currency)
    return moved(f"{claim.id}/cleared", earned, home, net_micro(claim, fee_bps), reason="cleared", at_ms=at_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stake:
    """What `party` puts in for round `round` of a dispute: 1 is the case itself, 2 the appeal."""

    dispute_id: str
    round: int
    party: str
    currency: str
    amount_micro: int


def stake_held(staked: Stake, at_ms: int) -> Chain:
    """The stake is reserved. `insufficient_funds` where the party has less."""
    source, pot = available(staked.party, staked.currency), stake(staked.dispute_id, staked.currency)
    return reserved(_stake_id(staked), source, pot, staked.amount_micro, reason="stake", at_ms=at_ms)


def stake_lost(staked: Stake, at_ms: int) -> Chain:
    """The party lost: its stake pays for the ruling."""
    return _stake_ended(staked, staked.amount_micro, at_ms)


def stake_returned(staked: Stake, at_ms: int) -> Chain:
    """The party won, or the case ended without a ruling."""
    return _stake_ended(staked, 0, at_ms)


def stake_split(staked: Stake, at_ms: int) -> Chain:
    """Nobody won: half of it returns, and the odd micro too."""
    return _stake_ended(staked, staked.amount_micro // 2, at_ms)


def treasury_needs_micro(chain: Chain) -> int:
    """What a chain takes from the treasury: where it holds less, the chain is left out and the fact says so."""
    return sum(transfer.amount_micro for transfer in chain if transfer.debit == treasury(OWN))


def treasury_opened(terms: Terms, at_ms: int) -> Chain:
    """All the ai$ there will ever be, once, when the platform starts for the first time."""
    source, home = external(OWN), treasury(OWN)
    return moved("treasury/opened", source, home, terms.treasury_aid_micro, reason="treasury", at_ms=at_ms)


def genesis(account_id: str, terms: Terms, at_ms: int) -> Chain:
    """The first ai$ of an account whose owner is known: once."""
    return _given(f"{account_id}/genesis", account_id, terms.genesis_aid_micro, reason="genesis", at_ms=at_ms)


def trial_paid(trial: Trial, at_ms: int) -> Chain:
    """A passed test job. Never part of advertised earnings."""
    return _given(f"{trial.id}/paid", trial.account_id, trial.amount_micro, reason="trial", at_ms=at_ms)


def approved_bonus(claim: Claim, terms: Terms, at_ms: int) -> Chain:
    """An approved ai$ job: worker and creator get a little each. Empty for other currencies, and for no weight."""
    if claim.currency != OWN or not weight_of(claim):
        return ()
    return (
        *_given(f"{claim.id}/bonus/seller", claim.seller, terms.approved_aid_micro, reason="bonus", at_ms=at_ms),
        *_given(f"{claim.id}/bonus/buyer", claim.buyer, terms.approved_aid_micro, reason="bonus", at_ms=at_ms),
    )


def fail_penalty_micro(work: Claim | Job, terms: Terms) -> int:
    """What a worker owes for work that verification rejected: an amount, and a share. Only ai$ jobs fine."""
    if work.currency != OWN:
        return 0
    return terms.fail_penalty_aid_micro + work.amount_micro * terms.fail_penalty_bps // BPS


def proposer_penalty_micro(work: Claim | Job, terms: Terms) -> int:
    """What a worker owes for work that the proposer rejected: an amount, and a capped share. Only ai$ jobs fine."""
    if work.currency != OWN:
        return 0
    share = min(work.amount_micro * terms.proposer_penalty_bps // BPS, terms.proposer_penalty_max_aid_micro)
    return terms.proposer_penalty_aid_micro + share


def fined(claim: Claim, penalty_micro: int, free_micro: int, at_ms: int) -> Chain:
    """The worker pays a penalty to the treasury, but never more than `free_micro`, which they can spend.

    At most one fine for each claim: its id is the same whoever rejected the work.
    """
    owed = min(penalty_micro, max(0, free_micro))
    return moved(f"{claim.id}/fine", available(claim.seller, OWN), treasury(OWN), owed, reason="penalty", at_ms=at_ms)


def _holds(claim: Claim, at_ms: int) -> tuple[Chain, Chain]:
    """What is reserved for the seller, and for the platform."""
    escrowed, net = escrow(claim.job_id, claim.currency), claim.amount_micro - claim.fee_micro
    earned, kept = clearing(claim.seller, claim.currency), fees(claim.currency)
    return (
        reserved(f"{claim.id}/seller", escrowed, earned, net, reason="held", at_ms=at_ms),
        reserved(f"{claim.id}/fee", escrowed, kept, claim.fee_micro, reason="fee_held", at_ms=at_ms),
    )


def _resolved(claim: Claim, net: int, fee: int, at_ms: int) -> Chain:
    """So much of the two reservations of a claim moves; the rest returns to the escrow."""
    held, fee_held = _holds(claim, at_ms)
    return (
        *ended(held, net, reason="released" if net else "unheld", at_ms=at_ms),
        *ended(fee_held, fee, reason="fee" if fee else "fee_unheld", at_ms=at_ms),
    )


def _stake_id(staked: Stake) -> str:
    return f"{staked.dispute_id}/stake/{staked.round}"


def _stake_ended(staked: Stake, lost_micro: int, at_ms: int) -> Chain:
    pot, earned = stake(staked.dispute_id, staked.currency), fees(staked.currency)
    return (
        *ended(
            stake_held(staked, at_ms), lost_micro, reason="stake_lost" if lost_micro else "stake_returned", at_ms=at_ms
        ),
        *moved(f"{_stake_id(staked)}/fee", pot, earned, lost_micro, reason="stake_fee", at_ms=at_ms),
    )


def _given(transfer_id: str, account_id: str, amount_micro: int, *, reason: str, at_ms: int) -> Chain:
    return moved(transfer_id, treasury(OWN), available(account_id, OWN), amount_micro, reason=reason, at_ms=at_ms)
