"""The books of the market: one for each thing that jobs lead to."""

from typing import Any, Final

from earnest.effects.storage.book import Book
from earnest.market.application import Application
from earnest.market.artifact import Artifact
from earnest.market.capability import Capability, Trial
from earnest.market.claim import Claim
from earnest.market.dispute import Dispute, Statement
from earnest.market.evidence import Submission
from earnest.market.job import Job
from earnest.market.review import ReviewRow
from earnest.market.signal import Signal

JOBS: Final = Book("job", Job, "jobs")
CLAIMS: Final = Book("claim", Claim, "claims")
SUBMISSIONS: Final = Book("submission", Submission, "submissions")
REVIEWS: Final = Book("review", ReviewRow, "reviews")
DISPUTES: Final = Book("dispute", Dispute, "disputes")
STATEMENTS: Final = Book("statement", Statement, "statements")
CAPABILITIES: Final = Book("capability", Capability, "capabilities")
TRIALS: Final = Book("trial", Trial, "trials")
APPLICATIONS: Final = Book("application", Application, "applications")
SIGNALS: Final = Book("signal", Signal, "signals")
ARTIFACTS: Final = Book("artifact", Artifact, "artifacts")

BOOKS: Final[tuple[Book[Any], ...]] = (
    JOBS,
    CLAIMS,
    SUBMISSIONS,
    REVIEWS,
    DISPUTES,
    STATEMENTS,
    CAPABILITIES,
    TRIALS,
    APPLICATIONS,
    SIGNALS,
    ARTIFACTS,
)


def category(name: str) -> str:
    """What a job of this category touches: the homes of all who can do such work."""
    return f"category:{name}"
