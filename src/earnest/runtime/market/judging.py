"""Judges of what was handed in: workers that find it in the books; what they are told is only a hint."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, cast

from earnest.contracts.criterion import Criterion, no_check_faults, read_criteria
from earnest.contracts.node import node_of
from earnest.contracts.reader import NodeReader as SpecReader
from earnest.effects.ground.storage.known_rows import Ahead, Sought
from earnest.effects.ground.storage.leases import FREE
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.identity.account import Account
from earnest.identity.service import ACCOUNTS
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.claims.evidence import BY_POSTER, MEASURED, Submission
from earnest.market.claims.judgement import verdict_given
from earnest.market.jobs.job import Job
from earnest.market.jobs.offer import WHOLE
from earnest.market.service import CLAIMS, JOBS, SUBMISSIONS
from earnest.market.terms import Terms
from earnest.runtime.desk import Act, StoryContext
from earnest.runtime.market.market import Market
from earnest.runtime.market.posting import lay_out, need_owned, unowned
from earnest.runtime.market.settling import advance, sought
from earnest.runtime.probing import is_probed, need_probes, told
from earnest.runtime.waiting_work import WaitingWork
from earnest.verification.plugin import Promise
from earnest.verification.verdict import Answer, Verdict, verdict_to_json

REASON_CHARACTERS_MAX: Final = 2_000
CRITERIA_KEPT_MAX: Final = 128
_LOG: Final = logging.getLogger("earnest.work")
_BY_PEOPLE: Final = frozenset({"proposer_review", "human"})
_NEWEST_SQL: Final = "claim_id = ? ORDER BY revision DESC LIMIT 1"
_NOBODY: Final = "no machine decides it: it waits for whoever accepts the work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was handed in for a claim, for which job, and whose that is."""

    claim: Claim
    job: Job
    poster: Account
    submission: Submission
    lacking: str
    """See `unowned`, of the job's files."""

    @classmethod
    def read(cls, reader: BooksReader, claim: Claim, submission: Submission) -> "Judged":
        """A submission for this claim, with all that it is judged by."""
        reader.link.look((Sought(JOBS.lookup, (claim.job_id,)), Sought(ACCOUNTS.lookup, (claim.buyer,))))
        job = JOBS.find(reader, claim.job_id)
        poster = ACCOUNTS.find(reader, job.creator)
        lacking = unowned(reader, job.creator, _files_of(job))
        return cls(claim=claim, job=job, poster=poster, submission=submission, lacking=lacking)

    async def tried(self, market: Market, criteria: Sequence[Criterion]) -> Verdict:
        """What the verifier says of the stored copy. Raises `Broken` and `Unavailable` where it cannot be laid out."""
        promise = Promise(title=self.job.title, text=self.job.text, origin=self.submission.claim_id)
        lays = partial(lay_out_all, market, self)
        return await market.verifier_of(self.poster).verify(criteria, lays, promise=promise)

    @property
    def verdict(self) -> Mapping[str, Any]:
        """The one that it has. Raises `ValueError` where it has none yet."""
        return cast("Mapping[str, Any]", json.loads(self.submission.verdict))


def newest(reader: BooksReader, claim_id: str) -> Judged:
    """The newest submission for a claim, with all that it is judged by."""
    theirs = Sought(SUBMISSIONS.lookup, conditions=_NEWEST_SQL, parameters=(claim_id,))
    reader.link.look((Sought(CLAIMS.lookup, (claim_id,)), theirs))
    claim = CLAIMS.find(reader, claim_id)
    return Judged.read(reader, claim, next(SUBMISSIONS.where(reader, _NEWEST_SQL, (claim_id,))))


class Judging(WaitingWork):
    """Judges submissions of claims."""

    def __init__(self, market: Market, holder: str = "") -> None:
        super().__init__(market.desk, "submission.opened", holder=holder)
        self._market = market

    def _waiting(self, reader: BooksReader, now_ms: int, limit: int) -> list[str]:
        waiting = f"state = 'submitted' AND verdict = '' AND {FREE} ORDER BY submitted_at_ms LIMIT ?"
        return [claim.id for claim in CLAIMS.where(reader, waiting, (now_ms, limit))]

    async def _do(self, key: str) -> tuple[Act, Ahead]:
        market = self._market
        what = await market.desk.database.ask(lambda reader: newest(reader, key))
        try:
            verdict = await _verdict(market, what)
        except Exception as error:  # whatever it is, it would be met again, and others wait
            _LOG.exception("%s cannot be judged", key)
            verdict = _unclear(f"a fault of ours: {type(error).__name__}")
        wanted = Sought(SUBMISSIONS.lookup, (what.submission.id,)), Sought(CLAIMS.lookup, (key,))
        return lambda entry: give_verdict(entry, market.terms, what, verdict), (*wanted, *sought(what.claim))


def give_verdict(entry: StoryContext, terms: Terms, judged: Judged, verdict: Mapping[str, Any]) -> JsonObject:
    """Record a verdict and all that follows from it. One on a revision that is no longer the newest changes nothing."""
    submission = SUBMISSIONS.find(entry.transaction, judged.submission.id)
    claim = CLAIMS.find(entry.transaction, judged.claim.id)
    is_newest = claim.state is ClaimState.SUBMITTED and claim.evidence_root == submission.root and not claim.verdict
    if submission.verdict or not is_newest:
        return {}
    given = _with_verdict(entry, submission, verdict)
    SUBMISSIONS.change(entry.transaction, entry.now_ms, submission, given)
    failed = [one["id"] for one in verdict["criteria"] if one["verdict"] == Answer.NOT_VERIFIED]
    by_poster = bool(verdict.get(BY_POSTER))
    moved = verdict_given(
        claim, verdict["verdict"], entry.now_ms, terms, failed=failed, reason=_why(verdict), by_poster=by_poster
    )
    return {"claim_id": claim.id, "state": advance(entry, terms, claim, moved).state.value}


def machine_criteria(job: Job) -> tuple[Criterion, ...]:
    """The criteria of a job that a machine can try."""
    return tuple(one for one in _criteria(job.criteria) if one.check is not None and one.check.kind not in _BY_PEOPLE)


@lru_cache(maxsize=CRITERIA_KEPT_MAX)
def _criteria(text: str) -> tuple[Criterion, ...]:
    reader = SpecReader()
    criteria = read_criteria(reader, [node_of(one) for one in json.loads(text)], no_check_faults)
    if reader.faults:
        raise Broken(f"criteria cannot be read: {text[:200]}")
    return criteria


async def _verdict(market: Market, what: Judged) -> Mapping[str, Any]:
    """What the verifier says of the stored copy. What we cannot lay out is unclear, for reasons of ours."""
    job, criteria = what.job, machine_criteria(what.job)
    if not criteria:
        return _unclear(_NOBODY)
    try:
        need_owned(what.lacking)
        need_probes(criteria, market.verifier_of(what.poster).probe_names)
    except Refused as refused:
        return {**_unclear(f"the poster's fault: {refused}"), BY_POSTER: True}
    try:
        verdict = await what.tried(market, criteria)
    except (Broken, Unavailable) as error:
        return _unclear(f"it cannot be laid out: {error}")
    return _for_people(criteria, verdict, waits=len(criteria) < len(_criteria(job.criteria)))


def _unclear(reason: str) -> Mapping[str, Any]:
    return {"verdict": Answer.UNCLEAR.value, "criteria": [], "reason": reason}


def _for_people(criteria: Sequence[Criterion], verdict: Verdict, *, waits: bool) -> Mapping[str, Any]:
    """A machine's yes is not the last word where a criterion waits for people. What was measured stands apart."""
    pairs = list(zip(criteria, verdict.criteria, strict=True))
    told_all = (replace(one, reason=told(criterion, one.answer, one.reason).reason) for criterion, one in pairs)
    form = dict(verdict_to_json(replace(verdict, criteria=tuple(told_all))))
    if measured := {one.id: one.reason for criterion, one in pairs if is_probed(criterion)}:
        form[MEASURED] = measured
    if waits and verdict.answer is Answer.VERIFIED:
        form |= {"verdict": Answer.UNCLEAR.value, "reason": _NOBODY}
    return form


def _why(verdict: Mapping[str, Any]) -> str:
    """The reasons that speak against it, in a line."""
    reasons = [f"{one['id']}: {one['reason']}" for one in verdict["criteria"] if one["verdict"] != Answer.VERIFIED]
    return "; ".join([*filter(None, [verdict.get("reason", "")]), *reasons])[:REASON_CHARACTERS_MAX]


def lay_out_all(market: Market, what: Judged, folder: Path) -> tuple[Path, Path | None]:
    """The work and, in `base`, what its checks name. What we lack of it is a fault of ours: `Broken`."""
    files = _files_of(what.job)
    base = folder / "base"
    try:
        need_owned(what.lacking)
        lay_out(market, files, base)
        return _lay_out_work(market, what.submission, folder / "work"), base if files else None
    except (OSError, Refused) as error:
        raise Broken(str(error)) from error


def _files_of(job: Job) -> Mapping[str, str]:
    return {one["path"]: one["sha256"] for one in json.loads(job.files)}


def _lay_out_work(market: Market, submission: Submission, folder: Path) -> Path:
    """What was handed in as files, or the archive that all of it is."""
    folder.mkdir()
    for item in json.loads(submission.manifest):
        path = folder.with_name("work.archive") if item["path"] == WHOLE else folder / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(market.artifacts.read(item["sha256"]))
        if item["path"] == WHOLE:
            return path
    return folder


def _with_verdict(entry: StoryContext, submission: Submission, verdict: Mapping[str, Any]) -> Submission:
    text = canonical_text(verdict)
    return replace(submission, verdict=text, verdict_id=entry.new_id("ver"), judged_at_ms=entry.now_ms)
