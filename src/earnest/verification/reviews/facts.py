"""The facts in which reviews are kept."""

from collections.abc import Sequence
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.foundation.shapes import from_json, to_json
from earnest.verification.reviews.review import Decision, Review
from earnest.verification.verdict import CriterionVerdict

WAITING: Final = "review.waiting"
"""A question waits for a person. The subject is the review's id."""
DECIDED: Final = "review.decided"
"""A person decided it."""


def waiting_fact(review: Review, advice: Sequence[CriterionVerdict], at_ms: int) -> Fact:
    """The question, with what machines say about the rest of the work."""
    body: JsonObject = {"review": to_json(review), "advice": [to_json(one) for one in advice]}
    return Fact(kind=WAITING, subject=review.id, at_ms=at_ms, body=body)


def decided_fact(decision: Decision) -> Fact:
    """The answer."""
    return Fact(kind=DECIDED, subject=decision.review_id, at_ms=decision.at_ms, body=to_json(decision))


def review_of(body: JsonObject) -> tuple[Review, tuple[CriterionVerdict, ...]]:
    """Question and advice, from the body of `review.waiting`. Raises `Broken`."""
    advice = from_json(tuple[CriterionVerdict, ...], body.get("advice"), "the advice of a review.waiting fact")
    return from_json(Review, body.get("review"), "a review.waiting fact"), advice


def decision_of(body: JsonObject) -> Decision:
    """The answer, from the body of `review.decided`. Raises `Broken`."""
    return from_json(Decision, body, "a review.decided fact")
