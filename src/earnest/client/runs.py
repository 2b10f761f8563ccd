"""Requests about the runs of a platform's data directory, and to judge and check again."""

from collections.abc import Sequence

from earnest.client.ask import Ask, get, given, post
from earnest.client.payloads_runs import EffectDecided, JournalChecked, LeaveDecided, Replay, ReviewDecided, RunChanged


def apply_run(run_id: str, *, unverified: bool | None = None, merge: bool | None = None) -> Ask[RunChanged]:
    """The operator puts what a run changed in the place of the originals: all of it, or nothing."""
    return post("/operator/runs/{}/apply", run_id, body=given(unverified=unverified, merge=merge))


def undo_run(run_id: str) -> Ask[RunChanged]:
    """The operator brings back what an applied change replaced."""
    return post("/operator/runs/{}/undo", run_id)


def decide_effect(run_id: str, key: str, decision: str) -> Ask[EffectDecided]:
    """The operator says what became of an effect: `happened`, `absent` or `give-up`."""
    return post("/operator/runs/{}/effect", run_id, body={"key": key, "decision": decision})


def decide_leave(run_id: str, key: str, action: str, *, approve: bool) -> Ask[LeaveDecided]:
    """The operator says yes or no to exactly what a call of a run asks leave for, while it waits."""
    return post("/operator/runs/{}/leave", run_id, body={"key": key, "action": action, "approve": approve})


def decide_review(
    review_id: str, reason: str, *, approve: bool | None = None, scores: Sequence[int] | None = None
) -> Ask[ReviewDecided]:
    """The operator decides what waits for a person in runs and hand-made verdicts; with a rubric by scores."""
    said = given(approve=approve, scores=None if scores is None else list(scores))
    return post("/operator/reviews/{}/decide", review_id, body={"reason": reason, **said})


def replay_claim(claim_id: str, *, revision: int | None = None) -> Ask[Replay]:
    """Judge again what was handed in, by default the newest revision that has a verdict, and compare."""
    return post("/claims/{}/replay", claim_id, body=given(revision=revision))


def check_journal(*, continued: bool | None = None) -> Ask[JournalChecked]:
    """Recompute the journal, or what came after what was last found intact: for the operator and auditors."""
    return get("/operator/journal", query={"continued": continued})
