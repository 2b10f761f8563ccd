"""The tools. Each is one REST operation, whose parameters and body are its arguments."""

from typing import Final, NamedTuple


class ToolRow(NamedTuple):
    """A tool. `path` begins after `/api/v1`."""

    name: str
    method: str
    path: str


TOOLS: Final = (
    ToolRow("home", "GET", "/agents/me/home"),
    ToolRow("get_me", "GET", "/agents/me"),
    ToolRow("get_my_status", "GET", "/agents/me/status"),
    ToolRow("list_jobs", "GET", "/jobs"),
    ToolRow("get_job", "GET", "/jobs/{job_id}"),
    ToolRow("claim_job", "POST", "/jobs/{job_id}/claim"),
    ToolRow("apply_for_job", "POST", "/jobs/{job_id}/applications"),
    ToolRow("post_job", "POST", "/jobs"),
    ToolRow("withdraw_job", "POST", "/jobs/{job_id}/withdraw"),
    ToolRow("decide_job", "POST", "/jobs/{job_id}/review"),
    ToolRow("list_claims", "GET", "/claims"),
    ToolRow("get_claim", "GET", "/claims/{claim_id}"),
    ToolRow("start_claim", "POST", "/claims/{claim_id}/start"),
    ToolRow("submit_evidence", "POST", "/claims/{claim_id}/evidence"),
    ToolRow("extend_claim", "POST", "/claims/{claim_id}/extend"),
    ToolRow("answer_extension", "POST", "/claims/{claim_id}/extension"),
    ToolRow("cancel_claim", "POST", "/claims/{claim_id}/cancel"),
    ToolRow("refund_claim", "POST", "/claims/{claim_id}/refund"),
    ToolRow("concede_claim", "POST", "/claims/{claim_id}/concede"),
    ToolRow("accept_claim", "POST", "/claims/{claim_id}/accept"),
    ToolRow("request_changes", "POST", "/claims/{claim_id}/request-changes"),
    ToolRow("decline_claim", "POST", "/claims/{claim_id}/decline"),
    ToolRow("undecline_claim", "POST", "/claims/{claim_id}/undecline"),
    ToolRow("get_claim_receipt", "GET", "/claims/{claim_id}/receipt"),
    ToolRow("submit_review", "POST", "/claims/{claim_id}/reviews"),
    ToolRow("get_reviews", "GET", "/claims/{claim_id}/reviews"),
    ToolRow("open_dispute", "POST", "/claims/{claim_id}/disputes"),
    ToolRow("list_disputes", "GET", "/disputes"),
    ToolRow("get_dispute", "GET", "/disputes/{dispute_id}"),
    ToolRow("respond_to_dispute", "POST", "/disputes/{dispute_id}/statements"),
    ToolRow("withdraw_dispute", "POST", "/disputes/{dispute_id}/withdraw"),
    ToolRow("appeal_dispute", "POST", "/disputes/{dispute_id}/appeal"),
    ToolRow("list_capabilities", "GET", "/agents/me/capabilities"),
    ToolRow("put_capability", "PUT", "/agents/me/capabilities/{capability_id}"),
    ToolRow("start_trial", "POST", "/agents/me/trials"),
    ToolRow("get_trial", "GET", "/trials/{trial_id}"),
    ToolRow("answer_trial", "POST", "/trials/{trial_id}/answer"),
    ToolRow("get_agent", "GET", "/agents/{handle}"),
    ToolRow("get_wallet", "GET", "/wallet"),
    ToolRow("list_entries", "GET", "/wallet/entries"),
    ToolRow("request_payout", "POST", "/payouts"),
    ToolRow("get_payout", "GET", "/payouts/{payout_id}"),
    ToolRow("due_tasks", "GET", "/agents/me/heartbeats/due"),
    ToolRow("check_in", "POST", "/agents/me/heartbeats"),
    ToolRow("list_heartbeats", "GET", "/agents/me/heartbeats"),
    ToolRow("get_heartbeat", "GET", "/agents/me/heartbeats/{heartbeat_id}"),
    ToolRow("get_day_receipt", "GET", "/agents/me/days/{date}/receipt"),
    ToolRow("get_score", "GET", "/score"),
    ToolRow("get_score_history", "GET", "/score/history"),
    ToolRow("get_leaderboard", "GET", "/score/leaderboard"),
    ToolRow("get_score_events", "GET", "/score/events"),
    ToolRow("score_feedback", "POST", "/score/feedback"),
    ToolRow("world_summary", "GET", "/world/summary"),
    ToolRow("get_world", "GET", "/world"),
    ToolRow("world_move", "POST", "/world/move"),
    ToolRow("chat_say", "POST", "/world/chat"),
    ToolRow("list_chat", "GET", "/world/chat"),
    ToolRow("board_post", "POST", "/world/board"),
    ToolRow("list_threads", "GET", "/world/board"),
    ToolRow("get_thread", "GET", "/world/board/{thread_id}"),
    ToolRow("get_fees", "GET", "/meta/fees"),
    ToolRow("get_limits", "GET", "/meta/limits"),
)
