"""What an agent may not do, whoever has chosen it: role, ownership, limits, what others get to read. Pure."""

import re
from collections.abc import Mapping
from typing import Final, assert_never

from earnest.agents.actions import (
    SOCIAL,
    AgentAction,
    AgentActionKind,
    AskHuman,
    ChatSay,
    ExecuteJob,
    GoTo,
    Noop,
    PostOnBoard,
    ProposeJob,
    ReviewJob,
    WebSearch,
)
from earnest.agents.state import AgentRole, AgentState, TownSeen, has_work
from earnest.client.payloads import Claim
from earnest.foundation.instants import HOUR_MS
from earnest.verification.judging.orders import gives_orders
from earnest.world.places import HOME, PLACES
from earnest.world.talk import POST_CHARACTERS_MAX, SAID_CHARACTERS_MAX, TITLE_CHARACTERS_MAX

SHARED_PER_HOUR: Final = 6
_KEY: Final = re.compile(r"ern_[a-z]+_\w+")


def fault(action: AgentAction, state: AgentState, submissions: Mapping[str, str]) -> str:
    """Why it may not be done; empty if it may. `submissions`: what was shown of work to be reviewed, by claim."""
    wrong = ""
    match action.payload:
        case Noop():
            pass
        case AskHuman(question=question):
            wrong = "" if question.strip() else "the question is empty"
        case GoTo() | ChatSay() | PostOnBoard() as shared:
            wrong = _of_sharing(shared, state)
        case WebSearch(query=query):
            wrong = "" if query in state["jobs"]["searches"] else "that is no search that I was shown"
        case ProposeJob() as proposal:
            wrong = _of_proposal(proposal, state)
        case ExecuteJob() as execution:
            wrong = _of_execution(execution, state)
        case ReviewJob() as review:
            wrong = _of_review(review, state, submissions)
        case other:
            assert_never(other)
    return wrong


def offered(state: AgentState) -> tuple[AgentActionKind, ...]:
    """The kinds that could be chosen now.

    While there is work, its texts, my memories and my operator's answers are shown, and nothing can be said that others
    hear; without any, what is public is shown, and that alone: what is private has no way out.
    """
    jobs, role = state["jobs"], AgentRole(state["role"])
    if not has_work(jobs, role):
        found = [AgentActionKind.NOOP]
        found += sorted(SOCIAL) if state["world"] is not None and _may_share(state) else []
        return (*found, *([AgentActionKind.WEB_SEARCH] if jobs["searches"] else []))
    found = [AgentActionKind.NOOP, AgentActionKind.ASK_HUMAN]
    found += [AgentActionKind.EXECUTE_JOB] if role.executes and (jobs["available"] or jobs["as_seller"]["owed"]) else []
    found += [AgentActionKind.PROPOSE_JOB] if role.proposes and jobs["backlog"] and not jobs["as_buyer"]["open"] else []
    found += [AgentActionKind.REVIEW_JOB] if role.proposes and jobs["as_buyer"]["to_review"] else []
    return tuple(found)


def _may_share(state: AgentState) -> bool:
    """Seldom: nobody is paid for talk."""
    lately = [one for one in state["memories"]["shared"] if state["at_ms"] - one["at_ms"] < HOUR_MS]
    return len(lately) < SHARED_PER_HOUR


def _of_sharing(shared: GoTo | ChatSay | PostOnBoard, state: AgentState) -> str:
    world = state["world"]
    if world is None:
        return "I have not looked at any world in which that could be done"
    if not _may_share(state):
        return f"that was done {SHARED_PER_HOUR} times in an hour: work comes first"
    match shared:
        case GoTo(place=place):
            return _of_move(place, world)
        case ChatSay(text=text):
            return _of_text(text, SAID_CHARACTERS_MAX)
        case PostOnBoard():
            return _of_post(shared, world)


def _of_move(place: str, world: TownSeen) -> str:
    if place not in PLACES and place != HOME:
        return f"there is no such place; there are {', '.join([*PLACES, HOME])}"
    return "I am there, or on my way" if world["summary"]["self"]["place"] == place else ""


def _of_post(post: PostOnBoard, world: TownSeen) -> str:
    if post.thread and not any(one["thread_id"] == post.thread for one in world["board"]):
        return "that is no thread that I was shown"
    wrong = "" if post.thread else _of_text(post.title, TITLE_CHARACTERS_MAX)
    return wrong or _of_text(post.text, POST_CHARACTERS_MAX)


def _of_text(text: str, characters_max: int) -> str:
    if not text.strip() or len(text) > characters_max:
        return f"a text has 1 to {characters_max} characters"
    return "a key is nobody else's to read" if _KEY.search(text) else ""


def _of_proposal(proposed: ProposeJob, state: AgentState) -> str:
    if not AgentRole(state["role"]).proposes:
        return "an executor posts no jobs"
    if state["jobs"]["as_buyer"]["open"]:
        return "a job of mine is open already: one at a time"
    if not any((one["name"], one["redo_of"]) == (proposed.entry, proposed.redo_of) for one in state["jobs"]["backlog"]):
        return "that is no entry of my backlog that could be posted"
    return ""


def _of_execution(execution: ExecuteJob, state: AgentState) -> str:
    if not AgentRole(state["role"]).executes:
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


def _of_review(review: ReviewJob, state: AgentState, submissions: Mapping[str, str]) -> str:
    if not AgentRole(state["role"]).proposes:
        return "an executor decides on no work"
    claim = next((one for one in state["jobs"]["as_buyer"]["to_review"] if one["claim_id"] == review.claim_id), None)
    if claim is None:
        return "that is no work that was handed in to me and waits"
    return _of_decision(review, claim, submissions.get(review.claim_id, ""))


def _of_decision(review: ReviewJob, claim: Claim, shown: str) -> str:
    verdict = claim["verdict"]
    if not review.reason.strip():
        return "a decision needs a reason"
    if review.approved and verdict == "not_verified":
        return "a machine has found it not to be so: nobody's word changes that"
    if not review.approved and verdict == "verified":
        return "a machine has verified it: it is not rejected, but disputed"
    if review.approved and verdict != "verified" and gives_orders(shown):
        return "the submission gives orders to whoever judges it: a person decides"
    return ""
