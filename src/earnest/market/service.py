"""The books of the market: one for each thing that jobs lead to."""

from typing import Any, Final

from earnest.effects.ground.storage.rows import Book
from earnest.market import rows

CATEGORY: Final = "category:"
"""Before a category: what a job of it touches, the homes of all who can do such work."""

JOBS: Final = Book("job", rows.JOBS)
CLAIMS: Final = Book("claim", rows.CLAIMS)
SUBMISSIONS: Final = Book("submission", rows.SUBMISSIONS)
REVIEWS: Final = Book("review", rows.REVIEWS)
DISPUTES: Final = Book("dispute", rows.DISPUTES)
STATEMENTS: Final = Book("statement", rows.STATEMENTS)
CAPABILITIES: Final = Book("capability", rows.CAPABILITIES)
TRIALS: Final = Book("trial", rows.TRIALS)
APPLICATIONS: Final = Book("application", rows.APPLICATIONS)
SIGNALS: Final = Book("signal", rows.SIGNALS)
ARTIFACTS: Final = Book("artifact", rows.ARTIFACTS, can_end=True)
PERIODS: Final = Book("period", rows.PERIODS)

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
