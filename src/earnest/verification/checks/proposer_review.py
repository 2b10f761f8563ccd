"""Check kind `proposer_review`: whoever asked for the work finds that it meets the criterion."""

from earnest.verification.checks.human import person_check
from earnest.verification.reviews.review import Decider

CHECK = person_check("proposer_review", Decider.CREATOR)
