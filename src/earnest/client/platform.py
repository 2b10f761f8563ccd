"""Requests about the platform itself: errors, limits, log, periods and runs, and to judge and check again."""

from collections.abc import Sequence
from dataclasses import replace

from earnest.client import payloads_platform as shown
from earnest.client.ask import Ask, get, given, post
from earnest.client.payloads import Page
from earnest.foundation.errors import Unavailable


def list_errors() -> Ask[shown.Errors]:
    """Every code that a problem can have."""
    return get("/meta/errors")


def get_limits() -> Ask[shown.Limits]:
    """The numbers that hold on this platform."""
    return get("/meta/limits")


def get_reputation_formula() -> Ask[shown.ReputationFormula]:
    """How a reputation is computed."""
    return get("/meta/reputation")


def get_checkpoint() -> Ask[shown.Checkpoint]:
    """The newest checkpoint of the log."""
    return get("/log/checkpoint")


def get_signed_checkpoint(*, size: int | None = None) -> Ask[str]:
    """The newest checkpoint, or that of `size` facts, as a signed note with its cosignatures."""
    return Ask(method="GET", path="/checkpoint", query={"size": size}, read=lambda answer: _text(answer.content))


def get_proof(seq: int) -> Ask[shown.Proof]:
    """That a fact stands under the newest checkpoint."""
    return get("/log/proof", query={"seq": seq})


def get_consistency(old: int, *, to: int | None = None) -> Ask[shown.Consistency]:
    """That a later checkpoint, by default the newest, only added to that of `old` facts."""
    return get("/log/consistency", query={"from": old, "to": to})


def get_log_keys() -> Ask[shown.LogKeys]:
    """By which keys the log signs and signed, and whose cosignatures are kept."""
    return get("/log/keys")


def send_cosignatures(checkpoint: str) -> Ask[shown.Cosigned]:
    """Hand in a checkpoint with the line of a witness that the platform knows."""
    return post("/log/cosignatures", body={"checkpoint": checkpoint})


def get_claim_receipt(claim_id: str) -> Ask[shown.Receipt]:
    """The receipt of a claim of mine that has ended."""
    return get("/claims/{}/receipt", claim_id)


def get_day_receipt(date: str) -> Ask[shown.Receipt]:
    """The receipt of a day of mine that is over, `YYYY-MM-DD`."""
    return get("/agents/me/days/{}/receipt", date)


def list_periods(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[shown.Period]]:
    """Periods, the newest first."""
    return get("/periods", query={"limit": limit, "cursor": cursor})


def open_period(name: str) -> Ask[shown.Period]:
    """The operator begins a period: the one before is archived, nothing is wiped."""
    return post("/periods", body={"name": name})


def get_metrics(period: str = "current") -> Ask[shown.PeriodMetrics]:
    """The metrics of a period, by id, name or `current`: of all agents for the operator and auditors, else my own."""
    return get("/periods/{}/metrics", period)


def get_metrics_csv(period: str = "current") -> Ask[str]:
    """The same as CSV (RFC 4180), a line for each agent."""
    return replace(
        get("/periods/{}/metrics", period, query={"format": "csv"}), read=lambda answer: answer.content.decode()
    )


def apply_run(run_id: str, *, unverified: bool | None = None, merge: bool | None = None) -> Ask[shown.RunChanged]:
    """The operator puts what a run changed in the place of the originals: all of it, or nothing."""
    return post("/operator/runs/{}/apply", run_id, body=given(unverified=unverified, merge=merge))


def undo_run(run_id: str) -> Ask[shown.RunChanged]:
    """The operator brings back what an applied change replaced."""
    return post("/operator/runs/{}/undo", run_id)


def decide_effect(run_id: str, key: str, decision: str) -> Ask[shown.EffectDecided]:
    """The operator says what became of an effect: `happened`, `absent` or `give-up`."""
    return post("/operator/runs/{}/effect", run_id, body={"key": key, "decision": decision})


def decide_leave(run_id: str, key: str, action: str, *, approve: bool) -> Ask[shown.LeaveDecided]:
    """The operator says yes or no to exactly what a call of a run asks leave for, while it waits."""
    return post("/operator/runs/{}/leave", run_id, body={"key": key, "action": action, "approve": approve})


def decide_review(
    review_id: str, reason: str, *, approve: bool | None = None, scores: Sequence[int] | None = None
) -> Ask[shown.ReviewDecided]:
    """The operator decides what waits for a person in runs and hand-made verdicts; with a rubric by scores."""
    said = given(approve=approve, scores=None if scores is None else list(scores))
    return post("/operator/reviews/{}/decide", review_id, body={"reason": reason, **said})


def replay_claim(claim_id: str, *, revision: int | None = None) -> Ask[shown.Replay]:
    """Judge again what was handed in, by default the newest revision that has a verdict, and compare."""
    return post("/claims/{}/replay", claim_id, body=given(revision=revision))


def check_journal(*, continued: bool | None = None) -> Ask[shown.JournalChecked]:
    """Recompute the journal, or what came after what was last found intact: for the operator and auditors."""
    return get("/operator/journal", query={"continued": continued})


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unavailable("what answered is no platform: its checkpoint is no text") from None
