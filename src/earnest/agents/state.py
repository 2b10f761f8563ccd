"""What an agent sees, remembers and has decided in one tick: JSON throughout, so that any checkpoint can hold it."""

from enum import StrEnum
from typing import Final, TypedDict

from earnest.client.payloads import Claim, ClaimSummary, Job, JobSummary
from earnest.client.payloads_home import Home
from earnest.client.payloads_world import Thread, WorldSummary
from earnest.foundation.canonical import JsonObject

WORKING: Final = frozenset({"claimed", "in_progress", "changes_requested"})
"""States of a claim in which its seller owes something."""
WAITING: Final = frozenset({"submitted", "verified"})
"""States in which its buyer, or a verifier, does."""
REJECTED: Final = frozenset({"declined", "refunding", "refunded"})
ENDED: Final = frozenset({"released", "refunded", "cancelled", "expired"})
"""States in which nothing is pending."""
GOALS: Final = ("earn ai$ by work that can be verified", "hand in nothing that is not so", "keep every claim")


class AgentRole(StrEnum):
    """What an agent is there for."""

    PROPOSER = "proposer"
    EXECUTOR = "executor"
    BOTH = "both"

    @property
    def proposes(self) -> bool:
        """It posts jobs and decides on what is handed in."""
        return self is not AgentRole.EXECUTOR

    @property
    def executes(self) -> bool:
        """It takes jobs."""
        return self is not AgentRole.PROPOSER


class SellerSide(TypedDict):
    """My claims: those that I owe something for, and the newest of all."""

    owed: list[ClaimSummary]
    recent: list[ClaimSummary]


class BuyerSide(TypedDict):
    """My jobs: those that nobody has claimed, work to decide on in full, and the newest claims on them."""

    open: list[JobSummary]
    to_review: list[Claim]
    recent: list[ClaimSummary]


class BacklogItem(TypedDict):
    """An entry of the backlog that could be posted. `redo_of`: the rejected job that it repeats, or empty."""

    name: str
    title: str
    category: str
    amount_micro: int
    currency: str
    redo_of: str


class Jobs(TypedDict):
    """`available`: jobs of others that fit, the best first; `backlog`: what I could post; `searches`: for what I could
    search the web, none while there is anything else to propose or to wait for."""

    available: list[Job]
    as_seller: SellerSide
    as_buyer: BuyerSide
    backlog: list[BacklogItem]
    searches: list[str]


class TownSeen(TypedDict):
    """The summary of the platform's world, and the threads of its board."""

    summary: WorldSummary
    board: list[Thread]


class RememberedOutcome(TypedDict):
    """One outcome. `is_good`: approved; else rejected or failed. `about`: the class of work, `category/check kinds`."""

    about: str
    job_id: str
    is_good: bool
    text: str
    at_ms: int


class OperatorAnswer(TypedDict):
    """What the operator answered to a question about a claim or job."""

    about: str
    answer: str


class Shared(TypedDict):
    """What I did before others: an action's kind, and what I said or where I went."""

    kind: str
    text: str
    at_ms: int


class Memories(TypedDict):
    """What recall found: failures and successes, the newest first, the operator's answers, and what I lately shared."""

    failures: list[RememberedOutcome]
    successes: list[RememberedOutcome]
    answers: list[OperatorAnswer]
    shared: list[Shared]


class ActionResult(TypedDict):
    """What an action came to. `claim_id`: of the claim that it moved, or empty."""

    ok: bool
    text: str
    claim_id: str


def came_to(text: str, claim_id: str = "", *, ok: bool = True) -> ActionResult:
    """What an action came to, in words."""
    return ActionResult(ok=ok, text=text, claim_id=claim_id)


class AgentState(TypedDict):
    """One tick. `tick` is its id, from which the Idempotency-Keys of all that it sends are made."""

    tick: str
    at_ms: int
    role: str
    goals: list[str]
    home: Home
    world: TownSeen | None
    chat_recent: list[str]
    jobs: Jobs
    memories: Memories
    action: JsonObject | None
    decided_by: str
    notes: list[str]
    result: ActionResult | None


def fresh_state(tick: str, at_ms: int, role: AgentRole, home: Home) -> AgentState:
    """A tick that begins."""
    return AgentState(
        tick=tick,
        at_ms=at_ms,
        role=role.value,
        goals=list(GOALS),
        home=home,
        world=None,
        chat_recent=[],
        jobs=Jobs(
            available=[],
            as_seller=SellerSide(owed=[], recent=[]),
            as_buyer=BuyerSide(open=[], to_review=[], recent=[]),
            backlog=[],
            searches=[],
        ),
        memories=Memories(failures=[], successes=[], answers=[], shared=[]),
        action=None,
        decided_by="",
        notes=[],
        result=None,
    )


def has_work(jobs: Jobs, role: AgentRole) -> bool:
    """Is there anything to work, to post or to decide on?"""
    work = [*jobs["available"], *jobs["as_seller"]["owed"]] if role.executes else []
    postable = jobs["backlog"] if role.proposes and not jobs["as_buyer"]["open"] else []
    return bool(work or postable or (role.proposes and jobs["as_buyer"]["to_review"]))


def class_of(job: Job) -> str:
    """The class of work that a job is: its category and the kinds of its checks."""
    kinds = sorted({str(one.get("check", {}).get("kind", "words")) for one in job["criteria"]})
    return f"{job['category']}/{'+'.join(kinds)}"
