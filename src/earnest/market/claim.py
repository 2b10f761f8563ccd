"""The life of a claim: what it is, and every step that it can take. Each step stands in the file of its question."""

from earnest.market.claim_clock import clock
from earnest.market.claim_row import (
    TERMINAL,
    WORKING,
    Actor,
    Claim,
    ClaimState,
    is_approaching,
    is_overdue,
    role_of,
)
from earnest.market.contest import dispute_confirmed, dispute_withdrawn, ruled_buyer, ruled_seller, ruled_split
from earnest.market.deadlines import with_wake
from earnest.market.ending import earnings_cleared, is_stuck, settle_failed, settled
from earnest.market.extension import ask_extension, grant_extension, policy_max_s, refuse_extension
from earnest.market.judgement import (
    accept,
    concede,
    decline,
    human_fail,
    human_pass,
    request_changes,
    undecline,
    verdict_given,
)
from earnest.market.lifecycle import allowed_events
from earnest.market.moving import Moved
from earnest.market.working import (
    ask_mutual_cancel,
    buyer_cancel,
    buyer_refund,
    cancel,
    open_claim,
    start,
    submit,
)

__all__ = [
    "TERMINAL",
    "WORKING",
    "Actor",
    "Claim",
    "ClaimState",
    "Moved",
    "accept",
    "allowed_events",
    "ask_extension",
    "ask_mutual_cancel",
    "buyer_cancel",
    "buyer_refund",
    "cancel",
    "clock",
    "concede",
    "decline",
    "dispute_confirmed",
    "dispute_withdrawn",
    "earnings_cleared",
    "grant_extension",
    "human_fail",
    "human_pass",
    "is_approaching",
    "is_overdue",
    "is_stuck",
    "open_claim",
    "policy_max_s",
    "refuse_extension",
    "request_changes",
    "role_of",
    "ruled_buyer",
    "ruled_seller",
    "ruled_split",
    "settle_failed",
    "settled",
    "start",
    "submit",
    "undecline",
    "verdict_given",
    "with_wake",
]
