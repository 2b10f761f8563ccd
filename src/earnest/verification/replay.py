"""What a verdict keeps so that it can be reached again, and whether two verdicts on the same work agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion, check_to_json, criterion_to_json
from earnest.foundation.canonical import INTEGER_MAX, JsonObject, digest_of
from earnest.verification.plugin import Check, is_reproducible
from earnest.verification.verdict import Answer, Cause, CriterionVerdict

FORMAT: Final = "earnest-verdict-v1"


class ReplayAgreement(StrEnum):
    """Of one criterion judged twice. DIFFERENT_NOW: the check, its version or the sandbox is not what it was."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    NOT_COMPARABLE = "not_comparable"
    DIFFERENT_NOW = "different_now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What became of one criterion the second time, and the `trust_key` of its check."""

    id: str
    agreement: ReplayAgreement
    detail: str
    key: str


def criteria_digest(criteria: Sequence[Criterion]) -> str:
    """The digest of what work is judged by."""
    return digest_of([criterion_to_json(criterion) for criterion in criteria])


def seed_of(criteria: Sequence[Criterion], snapshot: str) -> int:
    """The only source of chance of a verdict: equal for equal work and equal criteria."""
    return int(digest_of([criteria_digest(criteria), snapshot])[-14:], 16) & INTEGER_MAX


def trust_key(check: Check, spec: CheckSpec) -> str:
    """What loses trust if this check disagrees with itself, until its version changes.

    A check that runs nothing has only itself to blame: its kind and version. Of one that runs code it is the check as
    it is set up here, once the work of two submitters has shown it (`work_key`): a program may answer by chance.
    """
    kind = f"{check.kind}/{check.version}"
    return f"{kind}@{digest_of(check_to_json(spec))}" if check.runs_code else kind


def work_key(key: str, snapshot: str) -> str:
    """What loses trust first if a check that runs code disagrees with itself: its `trust_key`, over this work alone."""
    return f"{key} over {snapshot}"


def verdict_id(record: JsonObject) -> str:
    """The name of a kept verdict: the first 32 hexadecimal digits of its digest."""
    return digest_of(record)[len("sha256:") :][:32]


def compared(
    criteria: Sequence[Criterion],
    checks: Sequence[Check | None],
    before: Sequence[CriterionVerdict],
    after: Sequence[CriterionVerdict],
    *,
    same_place: bool,
) -> list[Comparison]:
    """Each criterion's first answer beside its second. `same_place`: both in the same kind of sandbox."""
    rows = zip(criteria, checks, before, after, strict=True)
    return [_compared(criterion, check, old, new, same_place=same_place) for criterion, check, old, new in rows]


def _compared(
    criterion: Criterion, check: Check | None, old: CriterionVerdict, new: CriterionVerdict, *, same_place: bool
) -> Comparison:
    def result(agreement: ReplayAgreement, detail: str) -> Comparison:
        key = trust_key(check, criterion.check) if check and criterion.check else ""
        return Comparison(id=criterion.id, agreement=agreement, detail=detail, key=key)

    was = f"{old.answer}, and again {new.answer}: {new.reason}"
    if check is None or not is_reproducible(check):
        return result(
            ReplayAgreement.NOT_COMPARABLE, "it rests on a model, a person or the world, which may have changed"
        )
    if old.check != new.check and old.check and new.check:
        return result(ReplayAgreement.DIFFERENT_NOW, f"judged by {old.check} then and by {new.check} now")
    if check.runs_code and not same_place:
        return result(ReplayAgreement.DIFFERENT_NOW, "judged in another sandbox")
    if old.answer is new.answer:
        return result(ReplayAgreement.AGREES, was)
    if _is_our_failure(old) or _is_our_failure(new):
        return result(ReplayAgreement.NOT_COMPARABLE, f"our side failed: {was}")
    return result(ReplayAgreement.DISAGREES, was)


def _is_our_failure(verdict: CriterionVerdict) -> bool:
    return verdict.answer is Answer.UNCLEAR and verdict.cause is Cause.VERIFIER
