"""A person's decision about a piece of work, and when it is one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.foundation.canonical import digest_of
from earnest.foundation.errors import Refused

REASON_CHARACTERS_MAX: Final = 4_000
ID_PREFIX: Final = "rev_"
ITEMS_MAX: Final = 20
POINTS_MAX: Final = 1_000
CRITERION_CHARACTERS_MAX: Final = 2_000


class Decider(StrEnum):
    """Who may decide: anybody whom the operator trusts, or whoever asked for the work."""

    PERSON = "person"
    CREATOR = "creator"


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricItem:
    """One thing to score with 0 to `points`; below `threshold` the work fails whatever else it has."""

    criterion: str
    points: int
    threshold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """What to score. `threshold` is the least sum that passes. Without items a person says yes or no."""

    items: tuple[RubricItem, ...] = ()
    threshold: int = 0

    def approves(self, scores: Sequence[int]) -> bool:
        """True if the scores, one for each item, reach every threshold."""
        return sum(scores) >= self.threshold and all(
            score >= item.threshold for score, item in zip(scores, self.items, strict=True)
        )


def read_rubric(reader: NodeReader, node: Node, _base_folder: Path | None) -> Rubric:
    """The rubric of a config with the keys `rubric` and `threshold`; none of them means a plain yes or no."""
    entries = reader.mapping(node, required=(), optional=("rubric", "threshold"))
    nodes = reader.items(entries.get("rubric"), at_least=1, at_most=ITEMS_MAX)
    items = tuple(_item(reader, item) for item in nodes)
    points = sum(item.points for item in items)
    threshold = entries.get("threshold")
    if threshold is not None and not items:
        reader.fault(threshold, "a threshold is the least sum of a rubric: give one")
        return Rubric()
    rubric = Rubric(items=items, threshold=reader.integer(threshold, low=0, high=points, default=0))
    if items and rubric.approves([0] * len(items)):
        reader.fault(entries["rubric"], "with 0 points for everything the work would pass: give a threshold")
    return rubric


def _item(reader: NodeReader, node: Node) -> RubricItem:
    entries = reader.mapping(node, required=("criterion", "points"), optional=("threshold",))
    points = reader.integer(entries.get("points"), low=1, high=POINTS_MAX, default=1)
    return RubricItem(
        criterion=reader.text(entries.get("criterion"), at_most=CRITERION_CHARACTERS_MAX),
        points=points,
        threshold=reader.integer(entries.get("threshold"), low=0, high=points, default=0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A question that waits for a person, bound to the work (`snapshot`) and to all that it is judged by (`asked`).

    `why`: what made it wait. `origin`: where the work is, a folder or a run. `flags`: what to look at.
    """

    snapshot: str
    asked: str
    criterion_id: str
    criterion_text: str
    decider: Decider
    rubric: Rubric
    why: str
    title: str = ""
    origin: str = ""
    flags: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same question about the same work, whoever asks and however often."""
        digest = digest_of([self.snapshot, self.asked, self.criterion_id, self.decider.value])
        return ID_PREFIX + digest.removeprefix("sha256:")[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided. It repeats what it is bound to, so that it says for itself what it is about."""

    review_id: str
    snapshot: str
    asked: str
    approved: bool
    scores: tuple[int, ...]
    reason: str
    by: str
    at_ms: int

    def settles(self, review: Review) -> bool:
        """True if it is about exactly this question and this work."""
        return (self.review_id, self.snapshot, self.asked) == (review.id, review.snapshot, review.asked)

    def repeats(self, other: "Decision") -> bool:
        """True if it says what `other` says, whenever it was said."""
        return (self.approved, self.scores, self.reason, self.by) == (
            other.approved,
            other.scores,
            other.reason,
            other.by,
        )


def decide(
    review: Review, *, approve: bool | None, scores: Sequence[int], reason: str, by: str, at_ms: int
) -> Decision:
    """The decision that these words make. With a rubric the scores decide, without one `approve` does.

    Raises `Refused("review_incomplete")` for scores that do not fit the rubric, for both or none of scores and
    `approve`, and for no reason or one of more than `REASON_CHARACTERS_MAX`.
    """
    items = review.rubric.items
    if items and (approve is not None or len(scores) != len(items)):
        raise Refused(
            "review_incomplete", f"give {len(items)} scores, one for each line of the rubric, and nothing else"
        )
    if not items and (approve is None or scores):
        raise Refused("review_incomplete", "there is no rubric: say whether you approve, without scores")
    for at, (score, item) in enumerate(zip(scores, items, strict=True), start=1):
        if not 0 <= score <= item.points:
            raise Refused("review_incomplete", f"score {at} must be 0 to {item.points}, is {score}")
    if not reason.strip() or len(reason) > REASON_CHARACTERS_MAX:
        raise Refused("review_incomplete", f"give a reason of 1 to {REASON_CHARACTERS_MAX} characters")
    return Decision(
        review_id=review.id,
        snapshot=review.snapshot,
        asked=review.asked,
        approved=bool(approve) if approve is not None else review.rubric.approves(scores),
        scores=tuple(scores),
        reason=reason.strip(),
        by=by,
        at_ms=at_ms,
    )
