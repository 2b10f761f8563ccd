"""What an agent may not do, whoever has chosen it: role, ownership, limits. Pure."""

from collections.abc import Iterator
from typing import Final, assert_never

from earnest.agents.actions import (
    Action,
    AskHuman,
    BoardPost,
    ChatSay,
    ExecuteJob,
    Kind,
    Move,
    Noop,
    ProposeJob,
    ReviewJob,
    WebSearch,
)
from earnest.agents.state import AgentState, Role
from earnest.client.payloads import Claim
from earnest.verification.judging.orders import gives_orders

REASON_CHARACTERS_MAX: Final = 2_000


def fault(action: Action, state: AgentState) -> str:
    """Why it may not be done; empty if it may."""
    wrong = ""
    match action.payload:
        case Noop():
            pass
        case AskHuman(question=question):
            wrong = "" if question.strip() else "the question is empty"
        case Move() | ChatSay() | BoardPost():
            wrong = "the platform has no world in which that could be done"
        case WebSearch():
            wrong = "nobody has set up a search of the web for this agent"
        case ProposeJob() as proposal:
            wrong = _of_proposal(proposal, state)
        case ExecuteJob() as execution:
            wrong = _of_execution(execution, state)
        case ReviewJob() as review:
            wrong = _of_review(review, state)
        case other:
            assert_never(other)
    return wrong


def offered(state: AgentState) -> tuple[Kind, ...]:
    """The kinds that could be chosen now."""
    jobs, role = state["jobs"], Role(state["role"])
    found = [Kind.NOOP, Kind.ASK_HUMAN]
    found += [Kind.EXECUTE_JOB] if role.executes and (jobs["available"] or jobs["as_seller"]["owed"]) else []
    found += [Kind.PROPOSE_JOB] if role.proposes and jobs["backlog"] and not jobs["as_buyer"]["open"] else []
    found += [Kind.REVIEW_JOB] if role.proposes and jobs["as_buyer"]["to_review"] else []
    return tuple(found)


def texts_of(claim: Claim) -> Iterator[str]:
    """What a seller has written into the newest revision, as far as it is text that came inline."""
    for submission in claim["submissions"][:1]:
        for item in submission["items"]:
            yield from (str(item[name]) for name in ("note", "inline") if item.get(name))


def _of_proposal(proposed: ProposeJob, state: AgentState) -> str:
    if not Role(state["role"]).proposes:
        return "an executor posts no jobs"
    if state["jobs"]["as_buyer"]["open"]:
        return "a job of mine is open already: one at a time"
    if not any((one["name"], one["redo_of"]) == (proposed.entry, proposed.redo_of) for one in state["jobs"]["backlog"]):
        return "that is no entry of my backlog that could be posted"
    return ""


def _of_execution(execution: ExecuteJob, state: AgentState) -> str:
    if not Role(state["role"]).executes:
        return "a proposer takes no jobs"
    owed = state["jobs"]["as_seller"]["owed"]
    if any((one["claim_id"], one["job_id"]) == (execution.claim_id, execution.job_id) for one in owed):
        return ""
    if execution.claim_id:
        return "that is no claim of mine that something is owed for"
    if owed:
        return "a claim of mine is not finished: one at a time"
    if not any(job["job_id"] == execution.job_id for job in state["jobs"]["available"]):
        return "that is no open job that I was shown and can do"
    return ""


def _of_review(review: ReviewJob, state: AgentState) -> str:
    if not Role(state["role"]).proposes:
        return "an executor decides on no work"
    claim = next((one for one in state["jobs"]["as_buyer"]["to_review"] if one["claim_id"] == review.claim_id), None)
    if claim is None:
        return "that is no work that was handed in to me and waits"
    return _of_decision(review, claim)


def _of_decision(review: ReviewJob, claim: Claim) -> str:
    verdict = claim["verdict"]
    if not review.reason.strip():
        return "a decision needs a reason"
    if review.approved and verdict == "not_verified":
        return "a machine has found it not to be so: nobody's word changes that"
    if not review.approved and verdict == "verified":
        return "a machine has verified it: it is not rejected, but disputed"
    if review.approved and verdict != "verified" and any(map(gives_orders, texts_of(claim))):
        return "the submission gives orders to whoever judges it: a person decides"
    return ""
