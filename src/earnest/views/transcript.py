"""Transcripts: test jobs that have ended, and verdicts on work, which anybody can check again."""

import json
from dataclasses import dataclass
from typing import Final

from earnest.client.payloads_agents import TranscriptClaim, TranscriptTrial
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.capabilities.capability import Trial
from earnest.market.capabilities.trial import trial_json
from earnest.market.claims.claim import Claim
from earnest.market.rows import CLAIMS, SUBMISSIONS, TRIALS

_NEWEST: Final = 2**62


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
) -> tuple[list[TranscriptTrial | TranscriptClaim], ReadPosition | None]:
    """Entries in order of their beginning, the newest first, and where to go on; None at the end."""
    trials = list(_ended_trials(reader, account_id, place, limit + 1))
    claims = list(_ended_claims(reader, account_id, place, limit + 1))
    found: list[Trial | Claim] = sorted([*trials, *claims], key=_began_at_ms, reverse=True)
    for one in found[:limit]:
        if isinstance(one, Claim):
            place = ReadPosition(claim_id=one.id, started_at_ms=place.started_at_ms, trial_id=place.trial_id)
        else:
            place = ReadPosition(claim_id=place.claim_id, started_at_ms=one.started_at_ms, trial_id=one.id)
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


def _test(trial: Trial) -> TranscriptTrial:
    return {"kind": "test_job", **trial_json(trial)}


def _work(reader: BooksReader, claim: Claim) -> TranscriptClaim:
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
