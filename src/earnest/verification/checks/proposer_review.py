"""Check kind `proposer_review`: does whoever asked for the work find that it meets the criterion?"""

from earnest.verification.checks.human import PersonCheck
from earnest.verification.reviews.review import Decider

CHECK = PersonCheck("proposer_review", Decider.CREATOR)
