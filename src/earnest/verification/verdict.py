"""What a verdict says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from earnest.foundation.canonical import JsonObject
from earnest.foundation.failures import FailureClass
from earnest.verification.reviews.review import Review

__all__ = ["Answer", "Cause", "CriterionVerdict", "FailureClass", "Verdict", "not_verified", "verdict_to_json"]


class Answer(StrEnum):
    """From best to worst. Only `core.conclude` may answer `verified`."""

    VERIFIED = "verified"
    UNCLEAR = "unclear"
    NOT_VERIFIED = "not_verified"


class Cause(StrEnum):
    """Why an answer is unclear: the work could not be judged from what was handed in, or our side failed."""

    EVIDENCE = "evidence"
    VERIFIER = "verifier"


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionVerdict:
    """`cause` stands with unclear, `failure_class` with not_verified. `check` is `kind/version`, empty if none ran.

    `contradiction`: an assertion about it was measured to be false. `cannot_run`: its check could not be run, and no
    other attempt at the work changes that. `judged_only`: it rests on a model's reading, no check and no measurement.
    """

    id: str
    answer: Answer
    reason: str
    cause: Cause | None = None
    failure_class: FailureClass | None = None
    evidence: tuple[str, ...] = ()
    check: str = ""
    required: bool = True
    contradiction: bool = False
    cannot_run: bool = False
    judged_only: bool = False


def not_verified(identity: str, reason: str, failure_class: FailureClass | None) -> CriterionVerdict:
    """The verdict on a criterion of which it is known, without a check, that it is not met."""
    return CriterionVerdict(id=identity, answer=Answer.NOT_VERIFIED, reason=reason, failure_class=failure_class)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer for the whole and for each criterion.

    `contradiction`: an assertion was measured to be false. `flags`: what a person should look at; while one is open,
    nothing is verified. `snapshot` is the digest of what was judged, `sandbox` provider, version and mode. `reviews`:
    the questions that wait for a person.
    """

    answer: Answer
    criteria: tuple[CriterionVerdict, ...]
    snapshot: str
    sandbox: str = ""
    contradiction: bool = False
    flags: tuple[str, ...] = ()
    reviews: tuple[Review, ...] = ()
    check_versions: Mapping[str, int] = field(default_factory=dict)


def verdict_to_json(verdict: Verdict) -> JsonObject:
    """The form of `earnest verify --json`."""
    return {
        "verdict": verdict.answer.value,
        "contradiction": verdict.contradiction,
        "flags": list(verdict.flags),
        "criteria": [
            {
                "id": criterion.id,
                "verdict": criterion.answer.value,
                "cause": criterion.cause and criterion.cause.value,
                "failure_class": criterion.failure_class and criterion.failure_class.value,
                "reason": criterion.reason,
                "evidence": list(criterion.evidence),
            }
            for criterion in verdict.criteria
        ],
        "snapshot": verdict.snapshot,
        "sandbox": verdict.sandbox,
        "check_versions": dict(verdict.check_versions),
    }
