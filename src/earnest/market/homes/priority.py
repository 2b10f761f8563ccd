"""What an agent should do next, in order: the seven classes of market ruling a.3.

Texts name instants and ids only, never how long ago or how soon: they stay true as long as the state stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, get_args

from earnest.client.payloads_home import Priority
from earnest.foundation.canonical import JsonObject
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.identity.account import Account
from earnest.identity.key import Scope
from earnest.market.capabilities.capability import Capability, Trial
from earnest.market.claims.claim import WORKING, Claim, ClaimState
from earnest.market.disputes.dispute import CLOSED, STATEMENTS_MAX, Dispute, DisputeState
from earnest.market.homes.cadence import is_awaited, total_s, unread
from earnest.market.jobs.job import Job
from earnest.market.terms import OWN

ACTIONS_MAX: Final = 20
API: Final = "/api/v1"
HEARTBEAT: Final = "hb"


class ActionKind(StrEnum):
    """The classes, most urgent first; and what somebody new begins with, which is of class 5."""

    CLAIM_OVERDUE = "claim_overdue"
    CLAIM_DUE_SOON = "claim_due_soon"
    REVIEW_HELD = "review_held"
    DISPUTE = "dispute"
    TEST_JOB = "test_job"
    NEW_JOB = "new_job"
    REVIEW_OPEN = "review_open"
    DECLARE = "declare"


PRIORITY: Final[Mapping[ActionKind, Priority]] = dict(zip(ActionKind, (*get_args(Priority), 5), strict=True))
"""Who is to declare has declared nothing, and so no test job: within class 5 these never meet."""
PRESSING: Final = 4
"""The last class that keeps an agent from a slow pace."""

RULES: Final = {
    ActionKind.CLAIM_OVERDUE: "rem <= 0 and the claim has not ended",
    ActionKind.CLAIM_DUE_SOON: "rem > 0 and 4 * rem < total",
    ActionKind.REVIEW_HELD: "review window open, counterparty submitted, I did not",
    ActionKind.DISPUTE: "I am a party, not final, and awaiting me or unread > 0",
    ActionKind.DECLARE: "an agent, not yet paid out, that has declared no capability and taken or posted no job",
    ActionKind.TEST_JOB: "my capability is declared or lapsed, attempts left, capacity free",
    ActionKind.NEW_JOB: "open, category and class match, price >= my floor, fits my hours, capacity free, not related",
    ActionKind.REVIEW_OPEN: "review window open, neither side submitted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCall:
    """The request that an action comes to. `scope`: the least that a key must have."""

    method: str
    path: str
    body_example: JsonObject | None
    scope: str = HEARTBEAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing to do. `rank` orders the actions of a class that `due_at_ms` does not, before the id."""

    kind: ActionKind
    subject_id: str
    text: str
    next_call: NextCall
    due_at_ms: int | None = None
    rank: int = 0
    needs_human: bool = False

    @property
    def priority(self) -> Priority:
        """1 is the most urgent."""
        return PRIORITY[self.kind]

    @property
    def order(self) -> tuple[int, bool, int, int, str]:
        """A total order: no two actions have the same."""
        return self.priority, self.due_at_ms is None, self.due_at_ms or 0, self.rank, self.subject_id


def ordered(actions: Iterable[Action]) -> tuple[Action, ...]:
    """In order, one for each subject: its most urgent."""
    kept: dict[str, Action] = {}
    for action in sorted(actions, key=lambda each: each.order):
        kept.setdefault(action.subject_id, action)
    return tuple(kept.values())


def due_soon_at_ms(claim: Claim) -> int:
    """The first second of the last quarter of the obligation under way."""
    return claim.due_at_ms - (total_s(claim) - 1) // 4 * SECOND_MS


def claim_action(claim: Claim, now_ms: int) -> Action | None:
    """Class 1 or 2, of a claim that is worked on."""
    if claim.state not in WORKING or now_ms < due_soon_at_ms(claim):
        return None
    is_overdue = now_ms >= claim.due_at_ms
    due = rfc3339_s(claim.due_at_ms)
    if is_overdue:
        text = f"Claim {claim.id} was due at {due}: submit evidence or cancel before {rfc3339_s(ends_at_ms(claim))}."
    elif claim.state is ClaimState.CHANGES_REQUESTED:
        text = f"Claim {claim.id} must be revised by {due}: submit evidence or cancel."
    else:
        text = f"Claim {claim.id} is due at {due}: submit evidence or ask for an extension."
    item: JsonObject = {"requirement_id": "<id of evidence_requirements>", "kind": "artifact", "sha256": "sha256:<hex>"}
    return Action(
        kind=ActionKind.CLAIM_OVERDUE if is_overdue else ActionKind.CLAIM_DUE_SOON,
        subject_id=claim.id,
        due_at_ms=claim.due_at_ms,
        text=text,
        next_call=NextCall(method="POST", path=f"{API}/claims/{claim.id}/evidence", body_example={"items": [item]}),
    )


def ends_at_ms(claim: Claim) -> int:
    """When the clock ends a claim that is worked on: a revision has no grace."""
    return claim.due_at_ms if claim.state is ClaimState.CHANGES_REQUESTED else claim.grace_ends_at_ms


def review_action(claim: Claim, closes_at_ms: int, *, is_held: bool) -> Action:
    """Class 3 or 7, of a claim whose review window is open and which I have not reviewed."""
    closes = rfc3339_s(closes_at_ms)
    if is_held:
        text = f"The counterparty's review of {claim.id} is held: yours publishes both; the window closes at {closes}."
    else:
        text = f"Claim {claim.id} has no review yet: send yours before {closes}."
    return Action(
        kind=ActionKind.REVIEW_HELD if is_held else ActionKind.REVIEW_OPEN,
        subject_id=claim.id,
        due_at_ms=closes_at_ms,
        text=text,
        next_call=NextCall(
            method="POST",
            path=f"{API}/claims/{claim.id}/reviews",
            body_example={"rating": 3, "text": "<what went well, what did not>"},
        ),
    )


def dispute_action(dispute: Dispute, me: str) -> Action | None:
    """Class 4: those that wait for me first. A stake, or a fourth statement, is not a heartbeat's matter."""
    awaits_me = is_awaited(dispute, me)
    messages = unread(dispute, me)
    if dispute.state in CLOSED or not (awaits_me or messages):
        return None
    said = dispute.raiser_statements if dispute.raiser == me else dispute.respondent_statements
    is_staked = dispute.state is not DisputeState.STAKE_PENDING
    can_answer = awaits_me and is_staked and said < STATEMENTS_MAX
    until = dispute.respond_by_ms if awaits_me else None
    by = f" by {rfc3339_s(until)}" if until is not None else ""
    about = f"Dispute {dispute.id} about {dispute.claim_id}"
    if awaits_me:
        text = f"{about} waits for your {'statement' if is_staked else 'stake'}{by}."
    else:
        text = f"{about} has messages that you have not read: {messages}."
    path = f"{API}/disputes/{dispute.id}"
    if can_answer:
        call = NextCall(method="POST", path=f"{path}/statements", body_example={"text": "<your side>", "evidence": []})
    else:
        call = NextCall(method="GET", path=path, body_example=None)
    return Action(
        kind=ActionKind.DISPUTE,
        subject_id=dispute.id,
        due_at_ms=until,
        text=text,
        next_call=call,
        rank=0 if awaits_me else 1,
        needs_human=awaits_me and not can_answer,
    )


def declare_action(account: Account) -> Action:
    """Class 5, of an agent that has declared nothing. Its own id makes the capability's."""
    capability_id = f"cap_{account.id.removeprefix('act_')}"
    return Action(
        kind=ActionKind.DECLARE,
        subject_id=capability_id,
        text="Declare what you can do: jobs and test jobs are offered by it. The body is sent with a category of yours;"
        f" GET {API}/meta/generators names those that have test jobs.",
        next_call=NextCall(
            method="PUT",
            path=f"{API}/agents/me/capabilities/{capability_id}",
            body_example={"category": "data-transformation", "currency": OWN, "floor_micro": 0},
            scope=Scope.REGISTERED,
        ),
    )


def test_job_action(capability: Capability, job_id: str, running: Trial | None) -> Action:
    """Class 5: the capability that was declared first. A test job that was begun is to be answered."""
    if running is not None:
        text = f"Test job {job_id} is running: answer it before {rfc3339_s(running.expires_at_ms)}."
        call = NextCall(method="POST", path=f"{API}/trials/{job_id}/answer", body_example={"answer": "<your answer>"})
    else:
        text = f"Test job {job_id} can verify your capability {capability.id} ({capability.category})."
        body: JsonObject = {"capability_id": capability.id}
        call = NextCall(method="POST", path=f"{API}/agents/me/trials", body_example=body)
    return Action(
        kind=ActionKind.TEST_JOB, subject_id=job_id, text=text, next_call=call, rank=capability.declared_at_ms
    )


def new_job_action(job: Job, match: int, now_ms: int) -> Action:
    """Class 6: the best match first. Inside its apply window a job is applied for, afterwards it is claimed."""
    path = f"{API}/jobs/{job.id}"
    if job.apply_until_ms is not None and now_ms < job.apply_until_ms:
        what = f"apply before {rfc3339_s(job.apply_until_ms)}"
        call = NextCall(method="POST", path=f"{path}/applications", body_example={"note": "<why you>"})
    else:
        what = f"it can be claimed until {rfc3339_s(job.closes_at_ms)}"
        call = NextCall(method="POST", path=f"{path}/claim", body_example={})
    return Action(
        kind=ActionKind.NEW_JOB,
        subject_id=job.id,
        text=f"Job {job.id} matches what you do and pays {job.amount_micro} micro {job.currency}: {what}.",
        next_call=call,
        rank=-match,
    )
