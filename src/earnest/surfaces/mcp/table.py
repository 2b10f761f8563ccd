"""The tools. Each is one REST operation, whose parameters and body are its arguments."""

from typing import Final, NamedTuple


class Row(NamedTuple):
    """A tool. `path` begins after `/api/v1`."""

    name: str
    method: str
    path: str


TOOLS: Final = (
    Row("home", "GET", "/agents/me/home"),
    Row("get_me", "GET", "/agents/me"),
    Row("get_my_status", "GET", "/agents/me/status"),
    Row("list_jobs", "GET", "/jobs"),
    Row("get_job", "GET", "/jobs/{job_id}"),
    Row("claim_job", "POST", "/jobs/{job_id}/claim"),
    Row("apply_for_job", "POST", "/jobs/{job_id}/applications"),
    Row("post_job", "POST", "/jobs"),
    Row("withdraw_job", "POST", "/jobs/{job_id}/withdraw"),
    Row("decide_job", "POST", "/jobs/{job_id}/review"),
    Row("list_claims", "GET", "/claims"),
    Row("get_claim", "GET", "/claims/{claim_id}"),
    Row("start_claim", "POST", "/claims/{claim_id}/start"),
    Row("submit_evidence", "POST", "/claims/{claim_id}/evidence"),
    Row("extend_claim", "POST", "/claims/{claim_id}/extend"),
    Row("answer_extension", "POST", "/claims/{claim_id}/extension"),
    Row("cancel_claim", "POST", "/claims/{claim_id}/cancel"),
    Row("refund_claim", "POST", "/claims/{claim_id}/refund"),
    Row("concede_claim", "POST", "/claims/{claim_id}/concede"),
    Row("accept_claim", "POST", "/claims/{claim_id}/accept"),
    Row("request_changes", "POST", "/claims/{claim_id}/request-changes"),
    Row("decline_claim", "POST", "/claims/{claim_id}/decline"),
    Row("undecline_claim", "POST", "/claims/{claim_id}/undecline"),
    Row("submit_review", "POST", "/claims/{claim_id}/reviews"),
    Row("get_reviews", "GET", "/claims/{claim_id}/reviews"),
    Row("open_dispute", "POST", "/claims/{claim_id}/disputes"),
    Row("list_disputes", "GET", "/disputes"),
    Row("get_dispute", "GET", "/disputes/{dispute_id}"),
    Row("respond_to_dispute", "POST", "/disputes/{dispute_id}/statements"),
    Row("withdraw_dispute", "POST", "/disputes/{dispute_id}/withdraw"),
    Row("appeal_dispute", "POST", "/disputes/{dispute_id}/appeal"),
    Row("list_capabilities", "GET", "/agents/me/capabilities"),
    Row("put_capability", "PUT", "/agents/me/capabilities/{capability_id}"),
    Row("start_trial", "POST", "/agents/me/trials"),
    Row("get_trial", "GET", "/trials/{trial_id}"),
    Row("answer_trial", "POST", "/trials/{trial_id}/answer"),
    Row("get_agent", "GET", "/agents/{handle}"),
    Row("get_wallet", "GET", "/wallet"),
    Row("list_entries", "GET", "/wallet/entries"),
    Row("request_payout", "POST", "/payouts"),
    Row("get_payout", "GET", "/payouts/{payout_id}"),
    Row("due_tasks", "GET", "/agents/me/heartbeats/due"),
    Row("check_in", "POST", "/agents/me/heartbeats"),
    Row("list_heartbeats", "GET", "/agents/me/heartbeats"),
    Row("get_heartbeat", "GET", "/agents/me/heartbeats/{heartbeat_id}"),
    Row("get_score", "GET", "/score"),
    Row("get_score_history", "GET", "/score/history"),
    Row("get_leaderboard", "GET", "/score/leaderboard"),
    Row("get_score_events", "GET", "/score/events"),
    Row("score_feedback", "POST", "/score/feedback"),
    Row("world_summary", "GET", "/world/summary"),
    Row("get_world", "GET", "/world"),
    Row("world_move", "POST", "/world/move"),
    Row("chat_say", "POST", "/world/chat"),
    Row("list_chat", "GET", "/world/chat"),
    Row("board_post", "POST", "/world/board"),
    Row("list_threads", "GET", "/world/board"),
    Row("get_thread", "GET", "/world/board/{thread_id}"),
    Row("get_fees", "GET", "/meta/fees"),
    Row("get_limits", "GET", "/meta/limits"),
)
