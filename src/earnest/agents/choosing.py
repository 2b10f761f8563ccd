"""The decision by code: what is done without a model, and what no model is asked about. Pure."""

from typing import Final

from earnest.agents.actions import (
    AgentAction,
    AskHuman,
    ExecuteJob,
    Noop,
    Payload,
    ProposeJob,
    ReviewJob,
    WebSearch,
    Why,
)
from earnest.agents.state import AgentRole, AgentState, class_of
from earnest.client.heartbeat import instant_ms
from earnest.client.payloads import Claim, Job

FAILURES_MAX: Final = 2
"""After so many failures in a row in a class of work, it is left alone for `REST_MS`."""
REST_MS: Final = 24 * 3_600_000
VERDICT_MS: Final = 120_000
"""A verdict by machine is there by then, if there is to be one."""
YES: Final = ("approve", "yes", "accept")
NO: Final = ("reject", "no", "decline")


def obligation(state: AgentState) -> AgentAction | None:
    """What was promised already. No model is asked whether to keep it."""
    for claim in state["jobs"]["as_seller"]["owed"]:
        facts = (f"claim {claim['claim_id']} is {claim['state']}", f"due at {claim['due_at']}")
        payload = ExecuteJob(job_id=claim["job_id"], claim_id=claim["claim_id"])
        return _action(payload, "keep every claim", *facts, value=f"{claim['amount_micro']} micro {claim['currency']}")
    return None


def chosen(state: AgentState) -> AgentAction:
    """What code would do: review, then work, then propose, then look for work on the web, else nothing."""
    return _review(state) or _execution(state) or _proposal(state) or _search(state) or _nothing(state)


def is_avoided(job: Job, state: AgentState) -> bool:
    """Has it failed before, or is its class at rest after failures in a row?"""
    known = [*state["memories"]["failures"], *state["memories"]["successes"]]
    if any(one["job_id"] == job["job_id"] and not one["is_good"] for one in known):
        return True
    about = sorted((one for one in known if one["about"] == class_of(job)), key=lambda one: -one["at_ms"])
    newest = about[:FAILURES_MAX]
    return len(newest) == FAILURES_MAX and all(
        not one["is_good"] and state["at_ms"] - one["at_ms"] < REST_MS for one in newest
    )


def _review(state: AgentState) -> AgentAction | None:
    if not AgentRole(state["role"]).proposes:
        return None
    for claim in state["jobs"]["as_buyer"]["to_review"]:
        if payload := _decision(claim, state):
            facts = (f"{claim['claim_id']} was handed in", f"the verdict is {claim['verdict']}")
            return _action(payload, "decide on what was handed in to me", *facts, value="the work is settled")
    return None


def _decision(claim: Claim, state: AgentState) -> Payload | None:
    """By the verdict of the machine, else by what the operator answers; None: it waits."""
    claim_id = claim["claim_id"]
    if claim["verdict"] == "verified":
        return ReviewJob(claim_id=claim_id, approved=True, reason="every required criterion was verified by machine")
    if claim["verdict"] == "not_verified":
        return ReviewJob(claim_id=claim_id, approved=False, reason=claim["reason"] or "not verified by machine")
    submitted_ms = instant_ms(claim["submitted_at"]) or state["at_ms"]
    if claim["verdict"] is None and state["at_ms"] - submitted_ms < VERDICT_MS:
        return None
    subject = f"{claim_id}/{claim['revision']}"
    answer = next((one["answer"] for one in state["memories"]["answers"] if one["about"] == subject), None)
    if answer is None:
        question = f"No machine could judge the work for {claim['job_title']!r} ({claim_id}): approve, or reject: why?"
        return AskHuman(question=question, about=subject)
    word, _, reason = answer.strip().partition(" ")
    word = word.strip(":,.").lower()
    if word in YES or word in NO:
        return ReviewJob(claim_id=claim_id, approved=word in YES, reason=reason.strip() or "as its operator answered")
    return None


def _execution(state: AgentState) -> AgentAction | None:
    if not AgentRole(state["role"]).executes or state["jobs"]["as_seller"]["owed"]:
        return None
    for job in state["jobs"]["available"]:
        if not is_avoided(job, state):
            facts = (f"{job['job_id']} is open and fits", f"its class is {class_of(job)}")
            value = f"{job['amount_micro'] - job['fee_micro']} micro {job['currency']}"
            return _action(ExecuteJob(job_id=job["job_id"]), "earn by work that can be verified", *facts, value=value)
    return None


def _proposal(state: AgentState) -> AgentAction | None:
    if not AgentRole(state["role"]).proposes or state["jobs"]["as_buyer"]["open"]:
        return None
    for entry in state["jobs"]["backlog"][:1]:
        payload = ProposeJob(entry=entry["name"], redo_of=entry["redo_of"])
        fact = f"{entry['redo_of']} was rejected" if entry["redo_of"] else "no job of mine is open"
        return _action(payload, "have the backlog done", fact, value=f"{entry['title']} is done")
    return None


def _search(state: AgentState) -> AgentAction | None:
    for search in state["jobs"]["searches"][:1]:
        fact = "nothing is in my backlog, and nothing that I posted is pending"
        return _action(WebSearch(query=search), "find work that somebody wants done", fact, value="a job to post")
    return None


def _nothing(state: AgentState) -> AgentAction:
    fact = "nothing waits that I could do" if not state["jobs"]["available"] else "what is open has failed before"
    return _action(Noop(), "spend nothing on nothing", fact, value="none")


def _action(payload: Payload, goal: str, *facts: str, value: str) -> AgentAction:
    return AgentAction(payload=payload, why=Why(goal=goal, facts=facts, expected_value=value))
