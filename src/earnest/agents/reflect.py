"""Reflect: what became of work is remembered once, and told to the solver."""

import json
from typing import Final

from earnest.agents.executing import FAILED, WorkRevision, feedback_on
from earnest.agents.means import Means, VerdictFeedback
from earnest.agents.recall import OUTCOME
from earnest.agents.state import AgentState, class_of
from earnest.client.payloads import Claim, ClaimSummary

DECISIVE: Final = frozenset(
    {"released", "declined", "refunding", "refunded", "changes_requested", "cancelled", "expired"}
)
"""States that say what became of a revision."""
GOOD: Final = "released"
UNJUDGED: Final = frozenset({"cancelled", "expired"})
"""Nobody has found anything about the work: it is remembered, and the solver is told nothing."""
TAUGHT: Final = "taught"
RESULT: Final = "result"


async def reflect(state: AgentState, means: Means) -> AgentState:
    """An outcome for each verdict on work of mine, whenever it came. Raises `Problem`, `Unavailable`."""
    if state["result"] is not None and state["result"]["text"]:
        means.book.add(RESULT, f"{state['tick']}/result", at_ms=means.clock.now_ms(), **state["result"])
    claims = {one["claim_id"]: one for one in state["jobs"]["as_seller"]["recent"]}
    moved = state["result"]["claim_id"] if state["result"] else ""
    for claim_id in dict.fromkeys([*([moved] if moved else []), *claims]):
        if claim_id == moved and state["action"] and state["action"]["kind"] != "execute_job":
            continue
        known = claims.get(claim_id)
        if claim_id != moved and known is not None and not _is_new(known, means):
            continue
        claim = await means.client.get_claim(claim_id)
        if _is_new(claim, means):
            await _remember(claim, means)
    return state


def _key(claim: ClaimSummary) -> str:
    """The same for one verdict: a claim that is declined and then refunded is one."""
    return f"{claim['claim_id']}/{claim['revision']}/{'good' if claim['state'] == GOOD else 'bad'}"


def _is_new(claim: ClaimSummary, means: Means) -> bool:
    return claim["state"] in DECISIVE and means.book.get(f"{TAUGHT}/{_key(claim)}") is None


async def _remember(claim: Claim, means: Means) -> None:
    """First the outcome, then the feedback, then that it was given: a kill in between gives it again, to no effect."""
    job = await means.client.get_job(claim["job_id"])
    is_good, key = claim["state"] == GOOD, _key(claim)
    failed = [row["text"] for row in means.book.rows(FAILED) if row["claim_id"] == claim["claim_id"]][:1]
    reasons = failed if claim["state"] in UNJUDGED else feedback_on(claim)
    if is_good:
        why = f"approved, {claim['verdict'] or 'without a verdict of a machine'}"
    else:
        why = f"{claim['state']}: {'; '.join(reasons) or 'no reason was given'}"
    means.book.add(
        OUTCOME,
        key,
        about=class_of(job),
        job_id=job["job_id"],
        is_good=is_good,
        text=f"{job['title']}: {why}"[:1_000],
        at_ms=means.clock.now_ms(),
    )
    if claim["state"] in UNJUDGED:
        means.book.add(TAUGHT, f"{TAUGHT}/{key}")
        return
    task_class = _task_class(claim, means) or class_of(job)
    criteria = tuple(str(one["text"]) for one in job["criteria"])
    await means.teacher.feedback(
        VerdictFeedback(key=key, job=job["title"], task_class=task_class, criteria=criteria, is_good=is_good, why=why)
    )
    means.book.add(TAUGHT, f"{TAUGHT}/{key}")


def _task_class(claim: Claim, means: Means) -> str:
    """As whoever worked it called it."""
    told = WorkRevision(means.folder / claim["claim_id"], claim["revision"]).told
    if not told.is_file():
        return ""
    return str(json.loads(told.read_text(encoding="utf-8")).get("task_class", ""))
