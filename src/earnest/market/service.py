"""The books of the market: one for each thing that jobs lead to."""

from typing import Any, Final

from earnest.effects.storage.book import Book
from earnest.market.capabilities.capability import Capability, Trial
from earnest.market.claims.artifact import Artifact
from earnest.market.claims.claim import Claim
from earnest.market.claims.evidence import Submission
from earnest.market.disputes.dispute import Dispute, Statement
from earnest.market.jobs.application import Application
from earnest.market.jobs.job import Job
from earnest.market.periods.period import Period
from earnest.market.reviews.review import ReviewRow
from earnest.market.reviews.signal import Signal

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
PERIODS: Final = Book("period", Period, "periods")

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
    PERIODS,
)


def category(name: str) -> str:
    """What a job of this category touches: the homes of all who can do such work."""
    return f"category:{name}"
