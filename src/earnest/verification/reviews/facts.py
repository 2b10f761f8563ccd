"""The facts in which reviews are kept."""

from collections.abc import Sequence
from typing import Final, cast

from pydantic import TypeAdapter, ValidationError

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.facts import Fact
from earnest.verification.reviews.review import Decision, Review
from earnest.verification.verdict import CriterionVerdict

WAITING: Final = "review.waiting"
"""A question waits for a person. The subject is the review's id."""
DECIDED: Final = "review.decided"
"""A person decided it."""

_REVIEW: Final = TypeAdapter(Review)
_DECISION: Final = TypeAdapter(Decision)
_ADVICE: Final = TypeAdapter(tuple[CriterionVerdict, ...])


def waiting_fact(review: Review, advice: Sequence[CriterionVerdict], at_ms: int) -> Fact:
    """The question, with what machines say about the rest of the work."""
    body = {
        "review": _REVIEW.dump_python(review, mode="json"),
        "advice": _ADVICE.dump_python(tuple(advice), mode="json"),
    }
    return Fact(kind=WAITING, subject=review.id, at_ms=at_ms, body=cast("JsonObject", body))


def decided_fact(decision: Decision) -> Fact:
    """The answer."""
    body = cast("JsonObject", _DECISION.dump_python(decision, mode="json"))
    return Fact(kind=DECIDED, subject=decision.review_id, at_ms=decision.at_ms, body=body)


def review_of(body: JsonObject) -> tuple[Review, tuple[CriterionVerdict, ...]]:
    """Question and advice, from the body of `review.waiting`. Raises `Broken`."""
    try:
        return _REVIEW.validate_python(body.get("review")), _ADVICE.validate_python(body.get("advice"))
    except ValidationError as error:
        raise Broken(f"a review.waiting fact is none that earnest wrote: {error}") from error


def decision_of(body: JsonObject) -> Decision:
    """The answer, from the body of `review.decided`. Raises `Broken`."""
    try:
        return _DECISION.validate_python(body)
    except ValidationError as error:
        raise Broken(f"a review.decided fact is none that earnest wrote: {error}") from error
