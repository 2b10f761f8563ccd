"""What anybody may know of an agent. Nothing here depends on a review that is not published.

Its transcript: test jobs that have ended, and verdicts on work, which anybody can check again.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from earnest.client import payloads_agents as shown
from earnest.client.payloads import Whole
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account, AccountKind
from earnest.identity.rows import ACCOUNTS
from earnest.market.capabilities.capability import Trial
from earnest.market.capabilities.trial import trial_json
from earnest.market.claims.claim import Claim
from earnest.market.reviews.reputation import WEIGHTS, WINDOW_S, reputation_json
from earnest.market.reviews.signal import Signal, SignalKind
from earnest.market.reviews.standing import standing
from earnest.market.rows import CLAIMS, SIGNALS, SUBMISSIONS, TRIALS
from earnest.views.capabilities import capabilities_of

_NEWEST: Final = 2**62

_RATINGS = (
    "SELECT side, count(*), sum(rating) FROM reviews "
    "WHERE about = ? AND published_at_ms > ? AND weight > 0 GROUP BY side"
)
_ANSWERED = (
    "SELECT count(mine.id), coalesce(sum(mine.late), 0), count(*) FROM reviews AS theirs LEFT JOIN reviews AS mine "
    "ON mine.claim_id = theirs.claim_id AND mine.side != theirs.side "
    "WHERE theirs.about = ? AND theirs.published_at_ms > ? AND theirs.weight > 0"
)
_DISPUTED = (
    "SELECT count(*), count(CASE WHEN respondent_statements > 0 THEN 1 END) FROM disputes "
    "WHERE respondent = ? AND closed_at_ms > ? AND state = 'final'"
)
_TRIALS = "SELECT state, count(*) FROM trials WHERE account_id = ? AND state != 'running' GROUP BY state"
_ENDS = (
    "SELECT signals.at_ms, kind, claims.id, job_id, category, amount_micro, currency "
    "FROM signals JOIN claims ON claims.id = claim_id WHERE account_id = ? "
    "ORDER BY at_ms DESC LIMIT ?"
)
_POSTED = (
    "SELECT created_at_ms, 'job_posted', NULL, id, category, amount_micro, currency FROM jobs "
    "WHERE creator = ? ORDER BY id DESC LIMIT ?"
)
_REVIEWED = (
    "SELECT published_at_ms, 'reviewed', claim_id, NULL, NULL, NULL, NULL FROM reviews "
    "WHERE about = ? AND published_at_ms IS NOT NULL ORDER BY published_at_ms DESC LIMIT ?"
)
_TRIED = (
    "SELECT graded_at_ms, 'test_' || state, NULL, id, category, NULL, NULL FROM trials "
    "WHERE account_id = ? AND graded_at_ms IS NOT NULL ORDER BY started_at_ms DESC LIMIT ?"
)


def find_agent(reader: BooksReader, handle: str) -> Account:
    """Whose handle it is, with or without an at-sign. Raises `Refused("not_found")`."""
    found = next(iter(ACCOUNTS.where(reader, "handle = ?", (handle.removeprefix("@"),))), None)
    if found is None or found.kind not in {AccountKind.AGENT, AccountKind.OPERATOR}:
        raise Refused("not_found", f"nobody here is called {handle[:80]!r}")
    return found


def show_agent(reader: BooksReader, handle: str, now_ms: int) -> shown.Agent:
    """An agent's public page."""
    account = find_agent(reader, handle)
    since_ms = now_ms - WINDOW_S * 1_000
    tried = dict(reader.execute(_TRIALS, (account.id,)).fetchall())
    return {
        "id": account.id,
        "handle": account.handle,
        "kind": "operator" if account.kind is AccountKind.OPERATOR else "agent",
        "status": account.status.value,
        "description": account.description,
        "model_fingerprint": account.model_fingerprint,
        "registered_at": rfc3339_s(account.created_at_ms),
        "capabilities": [
            {"id": one.id, "category": one.category, "task_class": one.task_class, "state": one.state.value}
            for one in capabilities_of(reader, account.id)
        ],
        "reputation": reputation_json(standing(reader, account.id, now_ms)),
        "ratings": _ratings(reader, account.id, since_ms),
        "responsiveness": _responsiveness(reader, account.id, since_ms),
        "test_jobs": {
            "passed": tried.get("passed", 0),
            "failed": tried.get("failed", 0),
            "expired": tried.get("expired", 0),
        },
    }


def signals_of(reader: BooksReader, account_id: str, *, before: tuple[int, str] | None, limit: int) -> list[Signal]:
    """The signals of an account, the newest first."""
    at_ms, last = before or (_NEWEST, "")
    condition = "account_id = ? AND at_ms <= ? AND (at_ms, id) < (?, ?) ORDER BY at_ms DESC, id DESC LIMIT ?"
    return list(SIGNALS.where(reader, condition, (account_id, at_ms, at_ms, last, limit)))


def signal_json(signal: Signal) -> shown.Signal:
    """A signal and what it counts in the formula."""
    weight = WEIGHTS[SignalKind(signal.kind)]
    return {
        "kind": signal.kind,
        "claim_id": signal.claim_id,
        "at": rfc3339_s(signal.at_ms),
        "weight": signal.weight,
        "success_milli": weight.success_milli * signal.weight,
        "failure_milli": weight.failure_milli * signal.weight,
    }


def activity_of(reader: BooksReader, handle: str, limit: int) -> Whole[shown.Event]:
    """What an agent did lately: claims that ended, jobs that it posted, reviews about it, test jobs. One page."""
    account = find_agent(reader, handle)
    rows = [
        row
        for sql in (_ENDS, _POSTED, _REVIEWED, _TRIED)
        for row in reader.execute(sql, (account.id, limit)).fetchall()
    ]
    rows.sort(key=lambda row: (-row[0], row[1], row[2] or "", row[3] or ""))
    return {"data": [_event(row) for row in rows[:limit]], "next_cursor": None}


def _event(row: tuple[Any, ...]) -> shown.Event:
    at_ms, kind, claim_id, job_id, category, amount_micro, currency = row
    return {
        "at": rfc3339_s(at_ms),
        "kind": kind,
        "claim_id": claim_id,
        "job_id": job_id,
        "category": category,
        "amount_micro": amount_micro,
        "currency": currency,
    }


def _ratings(reader: BooksReader, account_id: str, since_ms: int) -> shown.Ratings:
    """Of published reviews between unrelated parties, by the side that the agent was on. `average_milli`: of 5,000."""
    found = {side: (count, total) for side, count, total in reader.execute(_RATINGS, (account_id, since_ms)).fetchall()}
    return {"as_seller": _rated(*found.get("buyer", (0, 0))), "as_buyer": _rated(*found.get("seller", (0, 0)))}


def _rated(count: int, total: int) -> shown.RatingsShown:
    return {"count": count, "average_milli": total * 1_000 // count if count else None}


def _responsiveness(reader: BooksReader, account_id: str, since_ms: int) -> shown.Responsiveness:
    """Did it review whoever reviewed it, and answer whoever disputed with it? Apart from the reputation."""
    sent, late, wanted = reader.execute(_ANSWERED, (account_id, since_ms)).fetchone()
    disputes, answered = reader.execute(_DISPUTED, (account_id, since_ms)).fetchone()
    return {
        "reviews": {"on_time": sent - late, "late": late, "missed": wanted - sent},
        "disputes": {"answered": answered, "silent": disputes - answered},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPosition:
    """How far somebody has read: the last claim, and the last test job with its start."""

    claim_id: str = "~"
    started_at_ms: int = _NEWEST
    trial_id: str = ""

    def text(self) -> str:
        """For a cursor."""
        return f"{self.claim_id} {self.started_at_ms} {self.trial_id}"


def place(text: str) -> ReadPosition:
    """The place that `ReadPosition.text` wrote; the beginning for an empty text. Raises `Refused("bad_cursor")`."""
    if not text:
        return ReadPosition()
    claim_id, _, rest = text.partition(" ")
    started, _, trial_id = rest.partition(" ")
    if not started.isdecimal() or len(started) > 19 or int(started) > _NEWEST:
        raise Refused("bad_cursor", "the cursor is not one that a list has given")
    return ReadPosition(claim_id=claim_id, started_at_ms=int(started), trial_id=trial_id)


def transcript(
    reader: BooksReader, account_id: str, place: ReadPosition, limit: int
) -> tuple[list[shown.TranscriptTrial | shown.TranscriptClaim], ReadPosition | None]:
    """Entries in order of their beginning, the newest first, and where to go on; None at the end."""
    trials = list(_ended_trials(reader, account_id, place, limit + 1))
    claims = list(_ended_claims(reader, account_id, place, limit + 1))
    found: list[Trial | Claim] = sorted([*trials, *claims], key=_began_at_ms, reverse=True)
    for one in found[:limit]:
        if isinstance(one, Claim):
            place = replace(place, claim_id=one.id)
        else:
            place = replace(place, started_at_ms=one.started_at_ms, trial_id=one.id)
    entries = [_work(reader, one) if isinstance(one, Claim) else _test(one) for one in found[:limit]]
    return entries, place if len(found) > limit else None


def _began_at_ms(one: Trial | Claim) -> int:
    return one.claimed_at_ms if isinstance(one, Claim) else one.started_at_ms


def _ended_trials(reader: BooksReader, account_id: str, place: ReadPosition, limit: int) -> list[Trial]:
    condition = (
        "account_id = ? AND started_at_ms <= ? AND (started_at_ms, id) < (?, ?) AND state != 'running' "
        "ORDER BY started_at_ms DESC, id DESC LIMIT ?"
    )
    at_ms = place.started_at_ms
    return list(TRIALS.where(reader, condition, (account_id, at_ms, at_ms, place.trial_id, limit)))


def _ended_claims(reader: BooksReader, account_id: str, place: ReadPosition, limit: int) -> list[Claim]:
    condition = "seller = ? AND id < ? AND ended_at_ms IS NOT NULL AND last_verdict != '' ORDER BY id DESC LIMIT ?"
    return list(CLAIMS.where(reader, condition, (account_id, place.claim_id, limit)))


def _test(trial: Trial) -> shown.TranscriptTrial:
    return {"kind": "test_job", **trial_json(trial)}


def _work(reader: BooksReader, claim: Claim) -> shown.TranscriptClaim:
    submissions = SUBMISSIONS.where(reader, "claim_id = ? AND verdict != '' ORDER BY revision", (claim.id,))
    return {
        "kind": "claim",
        "claim_id": claim.id,
        "job_id": claim.job_id,
        "category": claim.category,
        "task_class": claim.task_class,
        "spec_digest": claim.spec_digest,
        "state": claim.state.value,
        "related": claim.related,
        "claimed_at": rfc3339_s(claim.claimed_at_ms),
        "ended_at": rfc3339_s(claim.ended_at_ms or 0),
        "verdicts": [
            {
                "verdict_id": one.verdict_id,
                "revision": one.revision,
                "evidence_root": one.root,
                "verdict": json.loads(one.verdict)["verdict"],
                "submitted_at": rfc3339_s(one.submitted_at_ms),
                "judged_at": rfc3339_s(one.judged_at_ms or 0),
            }
            for one in submissions
        ],
    }
