"""The tables of the market, each with the value that a row of it is."""

from typing import Final

from earnest.effects.ground.storage.rows import Rows
from earnest.market.capabilities.capability import Capability, Trial
from earnest.market.claims.claim import Claim
from earnest.market.claims.evidence import Artifact, Submission
from earnest.market.disputes.dispute import Dispute, Statement
from earnest.market.jobs.job import Application, Job
from earnest.market.periods.period import Period
from earnest.market.reviews.review import ReviewRow
from earnest.market.reviews.signal import Signal

JOBS: Final = Rows(Job, "jobs")
CLAIMS: Final = Rows(Claim, "claims")
SUBMISSIONS: Final = Rows(Submission, "submissions")
REVIEWS: Final = Rows(ReviewRow, "reviews")
DISPUTES: Final = Rows(Dispute, "disputes")
STATEMENTS: Final = Rows(Statement, "statements")
CAPABILITIES: Final = Rows(Capability, "capabilities")
TRIALS: Final = Rows(Trial, "trials")
APPLICATIONS: Final = Rows(Application, "applications")
SIGNALS: Final = Rows(Signal, "signals")
ARTIFACTS: Final = Rows(Artifact, "artifacts")
PERIODS: Final = Rows(Period, "periods")
