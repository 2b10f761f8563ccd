"""Which tables hold jobs and what comes of them?"""

from earnest.effects.storage.tables import table_of
from earnest.market.application import Application
from earnest.market.artifact import Artifact
from earnest.market.capability import Capability, Trial
from earnest.market.claim import Claim
from earnest.market.dispute import Dispute, Statement
from earnest.market.evidence import Submission
from earnest.market.job import Job
from earnest.market.review import ReviewRow
from earnest.market.signal import Signal

JOBS = table_of(Job, "jobs", ("creator", "created_at_ms"), ("state", "category", "task_class", "amount_micro"))
CLAIMS = table_of(
    Claim, "claims", ("seller", "state"), ("buyer", "state"), ("job_id",), ("state", "verdict", "submitted_at_ms")
)
SUBMISSIONS = table_of(Submission, "submissions", ("claim_id", "revision"))
REVIEWS = table_of(ReviewRow, "reviews", ("claim_id", "side"), ("about", "published_at_ms"))
DISPUTES = table_of(Dispute, "disputes", ("raiser", "closed_at_ms"), ("respondent", "closed_at_ms"), ("claim_id",))
STATEMENTS = table_of(Statement, "statements", ("dispute_id", "number"))
CAPABILITIES = table_of(Capability, "capabilities", ("account_id",), ("category", "task_class"))
TRIALS = table_of(Trial, "trials", ("account_id", "started_at_ms"), ("capability_id",))
APPLICATIONS = table_of(Application, "applications", ("job_id", "applied_at_ms"), ("account_id",))
SIGNALS = table_of(Signal, "signals", ("account_id", "at_ms"))
ARTIFACTS = table_of(Artifact, "artifacts", ("account_id", "kept_at_ms"), ("sha256",))
