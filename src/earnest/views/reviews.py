"""Questions that wait for a person, and how others were decided, from the facts alone."""

from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.verification.reviews.facts import DECIDED, WAITING, decision_of, review_of
from earnest.verification.reviews.review import ID_PREFIX, Decision, Review
from earnest.verification.verdict import CriterionVerdict

REVIEWS_SHOWN_MAX: Final = 1_000
MATCHES_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """A question, what machines say about the rest of the work, and the decision if there is one."""

    review: Review
    advice: tuple[CriterionVerdict, ...]
    asked_ms: int
    decision: Decision | None


def list_reviews(reader: BooksReader, *, with_decided: bool = False, limit: int = 50) -> tuple[ReviewView, ...]:
    """The oldest first, because it has waited longest."""
    decisions = {fact.subject: decision_of(fact.body) for fact in reader.facts(kind=DECIDED)}
    found: list[ReviewView] = []
    for fact in reader.facts(kind=WAITING):
        if with_decided or fact.subject not in decisions:
            found.append(_view(fact, decisions.get(fact.subject)))
        if len(found) == min(limit, REVIEWS_SHOWN_MAX):
            break
    return tuple(found)


def find_review(reader: BooksReader, name: str) -> ReviewView:
    """The one review that `name` means: the beginning of its id, or of the run or the snapshot that it is about.

    Raises `Refused("review_unknown")` for none and for several.
    """
    found = [fact for fact in reader.facts(kind=WAITING) if _is_meant(fact, name)]
    if len(found) != 1:
        several = ", ".join(fact.subject for fact in found[:MATCHES_SHOWN_MAX])
        problem = f"{len(found)} reviews match {name}: {several}" if found else f"there is no review {name}"
        raise Refused("review_unknown", f"{problem}; see `earnest review list`")
    decided = next(reader.facts(kind=DECIDED, subject=found[0].subject, limit=1), None)
    return _view(found[0], decision_of(decided.body) if decided is not None else None)


def _is_meant(fact: StoredFact, name: str) -> bool:
    if not name:
        return False
    if fact.subject.removeprefix(ID_PREFIX).startswith(name.removeprefix(ID_PREFIX)):
        return True
    review, _ = review_of(fact.body)
    return review.snapshot.removeprefix("sha256:").startswith(name.removeprefix("sha256:")) or review.origin == name


def _view(fact: StoredFact, decision: Decision | None) -> ReviewView:
    review, advice = review_of(fact.body)
    return ReviewView(review=review, advice=advice, asked_ms=fact.at_ms, decision=decision)
