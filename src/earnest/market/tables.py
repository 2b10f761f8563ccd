"""Tables of jobs and what comes of them."""

from earnest.effects.ground.storage.tables import index_of, table_of
from earnest.market.capabilities.capability import Capability, Trial
from earnest.market.capabilities.sealed_trial import SealedTrial
from earnest.market.claims.artifact import Artifact
from earnest.market.claims.claim import Claim
from earnest.market.claims.evidence import Submission
from earnest.market.disputes.dispute import Dispute, Statement
from earnest.market.jobs.application import Application
from earnest.market.jobs.job import Job
from earnest.market.periods.period import Period
from earnest.market.reviews.review import ReviewRow
from earnest.market.reviews.sealed import SealedReview
from earnest.market.reviews.signal import Signal

JOBS = table_of(
    Job, "jobs", ("creator", "id"), ("state", "id"), ("redo_of",), ("creator", "state", "currency", "amount_micro")
)
index_of(JOBS, "jobs_best_first", "state", "category", "task_class", "currency", "amount_micro DESC", "id")
CLAIMS = table_of(
    Claim,
    "claims",
    ("seller", "state"),
    ("seller", "id"),
    ("buyer", "state"),
    ("job_id", "id"),
    ("state", "verdict", "submitted_at_ms"),
)
_OPEN_WINDOW = "reviews_close_at_ms IS NOT NULL AND reviews_published_at_ms IS NULL"
index_of(CLAIMS, "claims_in_review_by_seller", "seller", "reviews_close_at_ms", where=_OPEN_WINDOW)
index_of(CLAIMS, "claims_in_review_by_buyer", "buyer", "reviews_close_at_ms", where=_OPEN_WINDOW)
SUBMISSIONS = table_of(Submission, "submissions", ("claim_id", "revision"))
REVIEWS = table_of(ReviewRow, "reviews", ("claim_id", "side"), ("about", "published_at_ms"))
SEALED_REVIEWS = table_of(SealedReview, "sealed_reviews")
SEALED_TRIALS = table_of(SealedTrial, "sealed_trials")
DISPUTES = table_of(Dispute, "disputes", ("raiser", "closed_at_ms"), ("respondent", "closed_at_ms"), ("claim_id",))
STATEMENTS = table_of(Statement, "statements", ("dispute_id", "number"))
CAPABILITIES = table_of(Capability, "capabilities", ("account_id",), ("category", "task_class"))
TRIALS = table_of(Trial, "trials", ("account_id", "started_at_ms"), ("capability_id",))
APPLICATIONS = table_of(Application, "applications", ("job_id", "applied_at_ms"), ("account_id",))
SIGNALS = table_of(Signal, "signals", ("account_id", "at_ms"))
ARTIFACTS = table_of(Artifact, "artifacts", ("account_id", "brought_bytes"), ("sha256",))
PERIODS = table_of(Period, "periods", unique=("name",))
