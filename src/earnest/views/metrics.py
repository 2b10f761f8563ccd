"""Periods, and the metrics of agents in them, computed from the facts of a period whenever they are asked for."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from threading import Lock
from typing import Any, Final, NamedTuple, cast

from earnest.client.payloads_platform import AgentMetrics, PeriodMetrics
from earnest.client.payloads_platform import Period as PeriodShown
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind
from earnest.identity.rows import ACCOUNTS
from earnest.ledger.transfer import currency_of, owner_of
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.periods import metrics as rules
from earnest.market.periods.period import CURRENT, Period, period_json
from earnest.market.rows import CLAIMS, PERIODS
from earnest.verification.verdict import Answer

PERIODS_KEPT_MAX: Final = 20
_KINDS: Final = ("claim.opened", "claim.changed", "ledger.posted", "resident.changed")
_SAID_YES: Final = frozenset({"verifier_pass_final", "human_pass", "accept", "undecline", "ruled_seller"})
"""Steps to a release that say that the work is good; a clock's say nothing, and the last verdict counts."""
_CLOCKS: Final = "clock:"
_VERDICTS: Final = {
    **dict.fromkeys(("verifier_pass", "verifier_pass_final"), Answer.VERIFIED),
    "verifier_fail": Answer.NOT_VERIFIED,
    "verifier_fail_final": Answer.NOT_VERIFIED,
    "verifier_unclear": Answer.UNCLEAR,
}
_GENESIS: Final = "genesis"
_OWN: Final = "AID"
_MOVES: Final = frozenset({"posted", "post"})
_NEWEST: Final = "~"


def list_periods(reader: BooksReader, before: str, limit: int) -> list[PeriodShown]:
    """The newest first."""
    where = "id < ? ORDER BY id DESC LIMIT ?"
    return [period_json(one) for one in PERIODS.where(reader, where, (before or _NEWEST, limit))]


class Counted(NamedTuple):
    """Metrics as far as they are counted: of `facts` the first `counted`."""

    metrics: PeriodMetrics
    counted: int
    facts: int


class PeriodCounts:
    """What this process has counted of the periods of one platform: nobody who asks again reads a fact twice."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[str, tuple[rules.Tallying, int]] = {}

    def show(
        self, reader: BooksReader, asked: str, now_ms: int, *, only: str = "", facts_max: int | None = None
    ) -> Counted:
        """Who did what in a period, by id, name or `current`. `only`: of this account alone. At most `facts_max` facts
        more are read for it. Raises `Refused("not_found")`.
        """
        period = _find(reader, asked)
        with self._lock:
            kept = self._kept.pop(period.id) if period.id in self._kept else None
            tallying, seq = kept or (rules.Tallying(_at_work(reader, period)), period.first_fact - 1)
            seq = _count_on(reader, period, tallying, seq, facts_max)
            self._kept[period.id] = tallying, seq
            if len(self._kept) > PERIODS_KEPT_MAX:
                del self._kept[next(iter(self._kept))]
            metrics = _metrics(reader, period, tallying.by_agent, now_ms, only)
        last = period.last_fact or next((one.seq for one in reader.facts(newest_first=True, limit=1)), 0)
        before = period.first_fact - 1
        return Counted(metrics, min(seq, last) - before, last - before)


def _count_on(reader: BooksReader, period: Period, tallying: rules.Tallying, seq: int, facts_max: int | None) -> int:
    """Count what came after a fact, and give the last that was looked at."""
    events = _Reading(reader)
    for fact in reader.facts(after_seq=seq, limit=facts_max):
        if period.last_fact is not None and fact.seq > period.last_fact:
            break
        seq = fact.seq
        for event in events.of(fact) if fact.kind in _KINDS else ():
            tallying.count(event)
    return seq


def _metrics(
    reader: BooksReader, period: Period, counted: Mapping[str, rules.Tally], now_ms: int, only: str
) -> PeriodMetrics:
    span_ms = (period.ended_at_ms or max(now_ms, period.opened_at_ms)) - period.opened_at_ms
    accounts = (ACCOUNTS.get(reader, each) for each in sorted(counted) if only in {"", each})
    agents = [one for one in accounts if one is not None and one.kind is AccountKind.AGENT]
    agents.sort(key=lambda one: one.handle)
    shown = [_shown(one, counted[one.id], rules.metrics_of(counted[one.id], span_ms)) for one in agents]
    return {"period": period_json(period), "span_s": span_ms // 1_000, "agents": shown}


def metrics_csv(found: PeriodMetrics) -> str:
    """A line for each agent under a line of names (RFC 4180). A metric that there is none of is an empty field."""
    rows = [_flat(found["period"]["name"], agent) for agent in found["agents"]]
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(_flat("", _shown(_NOBODY, rules.Tally(), rules.metrics_of(rules.Tally(), 0))))
    writer.writerows(row.values() for row in rows)
    return written.getvalue()


_NOBODY: Final = Account(id="", handle="", kind=AccountKind.AGENT, status=cast("Any", "registered"), created_at_ms=0)


def _flat(period: str, agent: AgentMetrics) -> dict[str, object]:
    row: dict[str, object] = {"period": period}
    for name, value in agent.items():
        if isinstance(value, Mapping):
            prefix = "" if name == "counts" else f"{name}_"
            row |= {f"{prefix}{inner}": number for inner, number in value.items()}
        else:
            row[name] = value
    return row


def _shown(account: Account, tally: rules.Tally, metrics: rules.Metrics) -> AgentMetrics:
    return {
        "account_id": account.id,
        "handle": account.handle,
        "verified_per_hour": metrics.verified_per_hour,
        "failure_rate": metrics.failure_rate,
        "aid_delta_micro": metrics.aid_delta_micro,
        "approval_from_submission": cast("Any", asdict(metrics.approval_from_submission)),
        "approval_from_creation": cast("Any", asdict(metrics.approval_from_creation)),
        "thrash_index": metrics.thrash_index,
        "counts": {
            "approved": tally.approved,
            "verified": tally.verified,
            "machine_passes": tally.passes,
            "machine_rejections": tally.rejections,
            "machine_unclear": tally.unclear,
            "destinations_chosen": tally.destinations_chosen,
            "destinations_changed": tally.destinations_changed,
            "tasks_started": tally.tasks_started,
            "tasks_left": tally.tasks_left,
        },
    }


def _find(reader: BooksReader, asked: str) -> Period:
    where = "ended_at_ms IS NULL LIMIT 1" if asked == CURRENT else "id = ? OR name = ? LIMIT 1"
    found = next(PERIODS.where(reader, where, () if asked == CURRENT else (asked, asked)), None)
    if found is None:
        raise Refused("not_found", f"there is no period {asked[:80]!r}")
    return found


def _at_work(reader: BooksReader, period: Period) -> dict[str, str]:
    """Which claim each agent worked on when the period began."""
    alive = "claimed_at_ms <= ? AND (ended_at_ms IS NULL OR ended_at_ms >= ?)"
    found: dict[str, str] = {}
    for claim in CLAIMS.where(reader, alive, (period.opened_at_ms, period.opened_at_ms)):
        states = [
            cast("Mapping[str, Any]", fact.body)["set"].get("state")
            for fact in reader.facts(kind="claim.changed", subject=claim.id)
            if fact.seq < period.first_fact
        ]
        if next((state for state in reversed(states) if state is not None), "") == ClaimState.IN_PROGRESS:
            found[claim.seller] = claim.id
    return found


class _Reading:
    """What the facts of a period say, in the words of the metrics."""

    def __init__(self, reader: BooksReader) -> None:
        self._reader = reader
        self._claims: dict[str, Claim] = {}
        self._creators: dict[str, tuple[str, int]] = {}

    def of(self, fact: StoredFact) -> Iterable[rules.Event]:
        """The events of one fact."""
        body = cast("Mapping[str, Any]", fact.body)
        match fact.kind:
            case "claim.opened":
                return [rules.ClaimedTask(agent=body["row"]["seller"])]
            case "claim.changed":
                return self._of_claim(fact, body)
            case "ledger.posted":
                return self._of_money(body["transfers"])
            case _:
                return (
                    [rules.Headed(agent=fact.subject, turned=body["turned"])] if body.get("event") == "headed" else []
                )

    def _of_claim(self, fact: StoredFact, body: Mapping[str, Any]) -> Iterator[rules.Event]:
        claim, event, state = self._claim(fact.subject), body["event"], body["set"].get("state")
        if event in _VERDICTS:
            yield rules.JudgedWork(agent=claim.seller, answer=_VERDICTS[event])
        if state == ClaimState.IN_PROGRESS:
            yield rules.Began(agent=claim.seller, claim_id=claim.id)
        elif state is not None:
            left = event == "cancel" and body["actor"] == "seller"
            yield rules.Paused(agent=claim.seller, claim_id=claim.id, left=left)
        if state == ClaimState.RELEASED:
            _, created_at_ms = self._creator(claim.job_id)
            yield rules.Approved(
                agent=claim.seller,
                verified=self._is_verified(claim, fact.seq),
                since_submission_ms=fact.at_ms - (claim.submitted_at_ms or fact.at_ms),
                since_creation_ms=fact.at_ms - created_at_ms,
            )

    def _is_verified(self, claim: Claim, seq: int) -> bool:
        """Somebody said that the work is good. A split says that it is not; silence, nothing."""
        if claim.settlement_seller_micro is not None:
            return False
        steps = self._reader.facts(kind="claim.changed", subject=claim.id, newest_first=True)
        before = (cast("Mapping[str, Any]", one.body) for one in steps if one.seq < seq)
        how = next(one["event"] for one in before if one["set"].get("state") == ClaimState.RELEASING)
        return how in _SAID_YES or (how.startswith(_CLOCKS) and claim.verdict == Answer.VERIFIED)

    def _of_money(self, transfers: Iterable[Mapping[str, Any]]) -> Iterator[rules.Event]:
        for one in transfers:
            if currency_of(one["debit"]) != _OWN or one["kind"] not in _MOVES or one["reason"] == _GENESIS:
                continue
            giver, taker = self._party(one["debit"]), self._party(one["credit"])
            if giver != taker:
                yield rules.MoneyMoved(agent=giver, amount_micro=-one["amount_micro"])
                yield rules.MoneyMoved(agent=taker, amount_micro=one["amount_micro"])

    def _party(self, account: str) -> str:
        """Whose money lies there. What is laid aside for a job is its creator's until it is released."""
        owner = owner_of(account)
        return self._creator(owner)[0] if owner.startswith("job_") else owner

    def _claim(self, claim_id: str) -> Claim:
        if claim_id not in self._claims:
            self._claims[claim_id] = next(CLAIMS.where(self._reader, "id = ?", (claim_id,)))
        return self._claims[claim_id]

    def _creator(self, job_id: str) -> tuple[str, int]:
        if job_id not in self._creators:
            row = self._reader.execute("SELECT creator, created_at_ms FROM jobs WHERE id = ?", (job_id,)).fetchone()
            self._creators[job_id] = row or ("", 0)
        return self._creators[job_id]
