"""What is read for a home: all at one moment, and by indexes, as quick with a million jobs as with none."""

from collections.abc import Iterable
from typing import Final

from earnest.accountability.days import RECENT_DAYS, date_of
from earnest.accountability.rows import AGREEMENTS, DAYS, SCORES
from earnest.accountability.score import Score, standing
from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS
from earnest.identity.account import Account, AccountStatus
from earnest.identity.rows import ACCOUNTS, PRESENCES
from earnest.ledger.payout import Payout
from earnest.ledger.rows import LEDGER_ACCOUNTS, PAYOUTS
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.ledger.transfer import available, clearing
from earnest.market.capabilities.capability import Capability, CapabilityState
from earnest.market.claims.claim import TERMINAL, Claim, ClaimState
from earnest.market.claims.deadlines import SILENT
from earnest.market.disputes.dispute import Dispute
from earnest.market.homes.given import CurrencyPurse, Duty, HomeInput, Unreviewed
from earnest.market.homes.members import ON_ITS_WAY
from earnest.market.jobs.capacity import are_related
from earnest.market.jobs.job import Job
from earnest.market.rows import CLAIMS, DISPUTES, JOBS, TRIALS
from earnest.market.terms import CURRENCIES
from earnest.views.capabilities import capabilities_of
from earnest.views.wallet import purse_of

SHOWN_MAX: Final = 100
"""Claims, reviews, work to judge, disputes of one home, each; the most urgent."""

CAPABILITIES_MAX: Final = 50
CANDIDATES_MAX: Final = 20
"""Jobs looked at for each kind of work; the best paid."""


_LIVE: Final = f"state IN ({', '.join(repr(state.value) for state in ClaimState if state not in TERMINAL)})"
_SILENT: Final = (
    f"(acceptance IN ({', '.join(repr(word.value) for word in sorted(SILENT))})"
    " OR (acceptance = 'machine' AND verdict = 'unclear' AND escalated = 0))"
)
"""As `is_the_buyers` says."""
_IN_REVIEW: Final = (
    "{me} = ? AND reviews_close_at_ms > ? AND reviews_published_at_ms IS NULL AND NOT EXISTS"
    " (SELECT 1 FROM reviews WHERE reviews.claim_id = claims.id AND reviews.side = '{me}')"
    " ORDER BY reviews_close_at_ms, id LIMIT ?"
)


def read_home(
    reader: BooksReader, account_id: str, now_ms: int, *, with_jobs: bool = True, as_buyer: bool = True
) -> HomeInput:
    """What `market.home.build` takes. `with_jobs`: also what could be taken on; `as_buyer`: also work to judge.

    Raises `Refused("not_found")` for an account that nobody has.
    """
    account = ACCOUNTS.get(reader, account_id)
    if account is None:
        raise Refused("not_found", f"there is no account {account_id[:80]!r}")
    live = f"seller = ? AND {_LIVE} ORDER BY due_at_ms, id LIMIT ?"
    claims = tuple(CLAIMS.where(reader, live, (account_id, SHOWN_MAX)))
    capabilities = tuple(capabilities_of(reader, account_id, CAPABILITIES_MAX))
    begun = "account_id = ? AND started_at_ms > ? ORDER BY started_at_ms LIMIT ?"
    presence = PRESENCES.get(reader, account_id)
    jobs = _jobs(reader, account, capabilities) if with_jobs else ()
    strange = tuple(job for job, is_related in jobs if not is_related)
    return HomeInput(
        account=account,
        purse=_purse(reader, account_id),
        seen_at_ms=presence.seen_at_ms if presence is not None else None,
        busy_at_ms=_busy_at_ms(reader, account_id),
        claims=claims,
        requirements=_requirements(reader, claims),
        reviews=_reviews(reader, account_id, now_ms),
        to_judge=_to_judge(reader, account_id) if as_buyer else (),
        disputes=_disputes(reader, account_id),
        capabilities=capabilities,
        trials=tuple(TRIALS.where(reader, begun, (account_id, now_ms - DAY_MS, SHOWN_MAX))),
        jobs=strange,
        related_jobs=len(jobs) - len(strange),
        payout=_payout(reader, account_id),
        duty=read_duty(reader, account_id, now_ms),
    )


def read_duty(reader: BooksReader, account_id: str, now_ms: int) -> Duty | None:
    """What an agent is held to and how it stands; None before it has shown a contract."""
    agreement = AGREEMENTS.get(reader, account_id)
    if agreement is None:
        return None
    score = SCORES.get(reader, account_id) or Score(account_id=account_id)
    recent = list(DAYS.where(reader, "account_id = ? ORDER BY date DESC LIMIT ?", (account_id, RECENT_DAYS)))
    date = date_of(now_ms, agreement.zone)
    score, day = standing(score, recent, date, agreement.zone, agreement.possible)
    waiting = "SELECT count(*) FROM heartbeats WHERE account_id = ? AND waiting > 0"
    return Duty(
        agreement=agreement,
        score=score,
        day=day,
        waiting=reader.execute(waiting, (account_id,)).fetchone()[0],
    )


def _requirements(reader: BooksReader, claims: Iterable[Claim]) -> dict[str, str]:
    ids = sorted({claim.job_id for claim in claims})
    sql = f"SELECT id, requirements FROM jobs WHERE id IN ({_marks(ids)})"  # noqa: S608
    return dict(reader.execute(sql, ids).fetchall())


def _reviews(reader: BooksReader, account_id: str, now_ms: int) -> tuple[Unreviewed, ...]:
    found = []
    for me, other in (("seller", "buyer"), ("buyer", "seller")):
        for claim in CLAIMS.where(reader, _IN_REVIEW.format(me=me), (account_id, now_ms, SHOWN_MAX)):
            sent = reader.execute("SELECT 1 FROM reviews WHERE claim_id = ? AND side = ?", (claim.id, other)).fetchone()
            counterparty = claim.buyer if other == "buyer" else claim.seller
            found.append((claim, counterparty, sent is not None))
    handles = {each.id: each.handle for each in _owners(reader, {counterparty for _, counterparty, _ in found})}
    reviews = [
        Unreviewed(
            claim=claim,
            closes_at_ms=claim.reviews_close_at_ms or 0,
            counterparty=handles.get(counterparty, ""),
            is_held=is_held,
        )
        for claim, counterparty, is_held in found
    ]
    return tuple(sorted(reviews, key=lambda review: (review.closes_at_ms, review.claim.id))[:SHOWN_MAX])


def _to_judge(reader: BooksReader, account_id: str) -> tuple[Claim, ...]:
    """Submitted work whose buyer decides, or lets time decide."""
    sql = f"buyer = ? AND state IN ('submitted', 'verified') AND {_SILENT} ORDER BY review_ends_at_ms, id LIMIT ?"
    return tuple(CLAIMS.where(reader, sql, (account_id, SHOWN_MAX)))


def _disputes(reader: BooksReader, account_id: str) -> tuple[Dispute, ...]:
    """A case without its stake is its raiser's matter alone."""
    mine = DISPUTES.where(
        reader, "raiser = ? AND closed_at_ms IS NULL ORDER BY opened_at_ms, id LIMIT ?", (account_id, SHOWN_MAX)
    )
    named = DISPUTES.where(
        reader,
        "respondent = ? AND closed_at_ms IS NULL AND state <> 'stake_pending' ORDER BY opened_at_ms, id LIMIT ?",
        (account_id, SHOWN_MAX),
    )
    return tuple(sorted((*mine, *named), key=lambda dispute: (dispute.opened_at_ms, dispute.id))[:SHOWN_MAX])


def _jobs(reader: BooksReader, account: Account, capabilities: Iterable[Capability]) -> tuple[tuple[Job, bool], ...]:
    """Jobs of others, of the right kinds and prices, and whether these are related. Who only registered works free."""
    floors: dict[tuple[str, str, str], int] = {}
    for able in capabilities:
        if able.state is not CapabilityState.REVOKED:
            kind = (able.category, able.task_class, able.currency)
            floors[kind] = min(floors.get(kind, AMOUNT_MICRO_MAX), able.floor_micro)
    most = 0 if account.status is AccountStatus.REGISTERED else AMOUNT_MICRO_MAX
    sql = (
        "state = 'open' AND category = ? AND task_class = ? AND currency = ? AND amount_micro BETWEEN ? AND ?"
        " ORDER BY amount_micro DESC, id LIMIT ?"
    )
    found = {
        job.id: job
        for kind, floor in sorted(floors.items())
        for job in JOBS.where(reader, sql, (*kind, floor, most, CANDIDATES_MAX))
    }
    owners = {each.id: each for each in _owners(reader, {job.creator for job in found.values()})}
    applied = [f"{job.id}/{account.id}" for job in found.values() if job.apply_until_ms is not None]
    of_these = f"SELECT job_id FROM applications WHERE id IN ({_marks(applied)})"  # noqa: S608
    done = {job_id for (job_id,) in reader.execute(of_these, applied)}
    return tuple(
        (job, are_related(account, owners[job.creator]))
        for job in found.values()
        if job.id not in done and job.creator in owners and job.creator != account.id
    )


def _purse(reader: BooksReader, account_id: str) -> CurrencyPurse:
    """In the first currency that the account has ever had; without any, the first of all."""
    names = [name(account_id, currency) for currency in CURRENCIES for name in (available, clearing)]
    sums = {each.id: each for each in LEDGER_ACCOUNTS.where(reader, f"id IN ({_marks(names)})", tuple(names))}
    moved = {each.currency for each in sums.values()}
    currency = next((each for each in CURRENCIES if each in moved), CURRENCIES[0])
    return purse_of(reader, account_id, currency, sums)


def _payout(reader: BooksReader, account_id: str) -> Payout | None:
    """One of the last that is on its way, else the last."""
    last = list(PAYOUTS.where(reader, "account_id = ? ORDER BY requested_at_ms DESC, id LIMIT 10", (account_id,)))
    return next((payout for payout in last if payout.state in ON_ITS_WAY), last[0] if last else None)


def _busy_at_ms(reader: BooksReader, account_id: str) -> int | None:
    newest = (
        "SELECT claimed_at_ms FROM claims WHERE seller = ? ORDER BY id DESC LIMIT 1",
        "SELECT created_at_ms FROM jobs WHERE creator = ? ORDER BY id DESC LIMIT 1",
    )
    found = [row[0] for sql in newest if (row := reader.execute(sql, (account_id,)).fetchone()) is not None]
    return max(found, default=None)


def _owners(reader: BooksReader, ids: Iterable[str]) -> Iterable[Account]:
    names = tuple(sorted(ids))
    return ACCOUNTS.where(reader, f"id IN ({_marks(names)})", names)


def _marks(values: Iterable[SqlValue]) -> str:
    """For `IN`. PostgreSQL takes no empty list; nothing equals NULL."""
    return ", ".join("?" for _ in values) or "NULL"
