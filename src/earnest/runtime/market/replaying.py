"""Judging again what was handed in for a claim: whether the verdict that stands is the one that is reached now.

Nothing is recorded and nothing follows from it. What rests on a model, a person or the world is not asked again.
"""

from collections.abc import Mapping
from typing import Any

from earnest.client.payloads_platform import Replay
from earnest.contracts.criterion import Criterion
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.identity.key import Caller
from earnest.market.service import CLAIMS, SUBMISSIONS
from earnest.runtime.market.judging import Judged, machine_criteria
from earnest.runtime.market.market import Market
from earnest.verification.plugin import is_reproducible
from earnest.verification.replay import Comparison, compared
from earnest.verification.verdict import Answer, Cause, CriterionVerdict, Verdict


async def replay(market: Market, caller: Caller, claim_id: str, revision: int | None = None) -> Replay:
    """Judge a revision again, by default the newest that has a verdict; one at a time, not to keep new work waiting.

    Raises `Refused`: `not_found`, `not_a_party`, `not_judged`, `evidence_gone`, and `verifier_unavailable` while
    another one is judged again.
    """
    found = await market.desk.database.ask(lambda reader: _find(reader, caller, claim_id, revision))
    if market.replaying.locked():
        raise Refused("verifier_unavailable", "another verdict is being replayed: try again")
    async with market.replaying:
        verdict, rows = await judged_again(market, found)
    return {
        "claim_id": found.submission.claim_id,
        "revision": found.submission.revision,
        "same_work": found.verdict.get("snapshot") == verdict.snapshot,
        "criteria": [{"id": one.id, "agreement": one.agreement.value, "detail": one.detail} for one in rows],
    }


async def judged_again(market: Market, found: Judged) -> tuple[Verdict, list[Comparison]]:
    """The verdict that is reached now, and each criterion's answer beside the one that is kept.

    Raises `Refused`: `evidence_gone`, `verifier_unavailable`.
    """
    kept = found.verdict
    answers = {one["id"]: one for one in kept["criteria"]}
    criteria = [one for one in machine_criteria(found.job) if one.id in answers]
    checks = [market.registry.check(one.check.kind) if one.check else None for one in criteria]
    tried = [one for one, check in zip(criteria, checks, strict=True) if check and is_reproducible(check)]
    try:
        verdict = await found.tried(market, tried)
    except Broken as error:
        raise Refused("evidence_gone", f"what was judged can no longer be laid out: {error}") from error
    except Unavailable as error:
        raise Refused("verifier_unavailable", str(error)) from error
    versions = kept.get("check_versions", {})
    before = [_before(one, answers[one.id], versions) for one in criteria]
    same_place = kept.get("sandbox") == verdict.sandbox
    return verdict, compared(criteria, checks, before, _after(criteria, verdict), same_place=same_place)


def _find(reader: BooksReader, caller: Caller, claim_id: str, revision: int | None) -> Judged:
    claim = CLAIMS.find(reader, claim_id)
    if caller.id not in {claim.seller, claim.buyer} and not caller.sees_all:
        raise Refused("not_a_party", "only its two parties have a claim judged again")
    which = "claim_id = ? AND verdict <> ''" + ("" if revision is None else " AND revision = ?")
    given = (claim_id,) if revision is None else (claim_id, revision)
    submission = next(SUBMISSIONS.where(reader, f"{which} ORDER BY revision DESC LIMIT 1", given), None)
    if submission is None:
        raise Refused("not_judged", "nothing of it has a verdict that could be reached again")
    return Judged.read(reader, claim, submission)


def _before(criterion: Criterion, kept: Mapping[str, Any], versions: Mapping[str, int]) -> CriterionVerdict:
    kind = criterion.check.kind if criterion.check else ""
    return CriterionVerdict(
        id=criterion.id,
        answer=Answer(kept["verdict"]),
        reason=kept["reason"],
        cause=Cause(kept["cause"]) if kept["cause"] else None,
        check=f"{kind}/{versions[kind]}" if kind in versions else "",
    )


def _after(criteria: list[Criterion], verdict: Verdict) -> list[CriterionVerdict]:
    """What was reached now; of what was not asked again nothing."""
    found = {one.id: one for one in verdict.criteria}
    nothing = "it is not asked again"
    return [found.get(one.id) or CriterionVerdict(id=one.id, answer=Answer.UNCLEAR, reason=nothing) for one in criteria]
