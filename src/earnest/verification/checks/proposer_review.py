"""Check kind `proposer_review`: whoever asked for the work finds that it meets the criterion."""

from earnest.verification.checks.human import PersonCheck
from earnest.verification.reviews.review import Decider

CHECK = PersonCheck("proposer_review", Decider.CREATOR)
