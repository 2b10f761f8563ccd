"""Perceive: what the platform shows, from one look at the home and what follows from it."""

from itertools import islice
from typing import Final

from earnest.agents.means import Means
from earnest.agents.state import ENDED, REJECTED, WAITING, WORKING, AgentState, BuyerSide, Jobs, SellerSide, has_work
from earnest.client import jobs
from earnest.client.payloads import ClaimSummary, Job
from earnest.client.payloads_home import Home
from earnest.client.problem import Problem

AVAILABLE_MAX: Final = 5
LISTED_MAX: Final = 20
REVIEWS_MAX: Final = 3
OPEN_MAX: Final = 5


async def perceive(state: AgentState, means: Means) -> AgentState:
    """Claims of both sides, jobs that could be taken or posted; the world where there is none of it, for a mind.

    Raises `Problem`, `Unavailable`.
    """
    home = state["home"]
    sold = (await means.client.list_claims(role="seller", limit=LISTED_MAX))["data"]
    known = {one["claim_id"]: one for one in sold}
    open_ids = [one["claim_id"] for one in home["open_claims"] if one["state"] in WORKING | {"declined"}]
    owed = [known.get(claim_id) or await means.client.get_claim(claim_id) for claim_id in open_ids]
    bought = (await means.client.list_claims(role="buyer", limit=LISTED_MAX))["data"] if means.role.proposes else []
    is_free = means.role.executes and not owed and home["your_account"]["capacity"]["free"] > 0
    as_buyer = await _as_buyer(means, bought)
    backlog = means.backlog.open([one["job_id"] for one in bought if one["state"] in REJECTED])
    is_waiting = bool(as_buyer["open"]) or any(one["state"] not in ENDED for one in bought)
    searches = [] if means.scout is None or backlog or is_waiting or not means.role.proposes else means.scout.searches()
    seen = Jobs(
        available=await _available(means, home) if is_free else [],
        as_seller=SellerSide(owed=owed, recent=sold),
        as_buyer=as_buyer,
        backlog=backlog,
        searches=searches,
    )
    is_busy = means.mind is None or has_work(seen, means.role)
    world, chat = (None, []) if is_busy else await means.world.look()
    return {**state, "jobs": seen, "world": world, "chat_recent": chat}


async def _as_buyer(means: Means, bought: list[ClaimSummary]) -> BuyerSide:
    if not means.role.proposes:
        return BuyerSide(open=[], to_review=[], recent=[])
    mine = (await means.client.list_jobs(mine=True, state="open", limit=OPEN_MAX))["data"]
    waiting = [one for one in bought if one["state"] in WAITING and one["acceptance"] in {"buyer", "proposer"}]
    whole = [await means.client.get_claim(one["claim_id"]) for one in waiting[:REVIEWS_MAX]]
    return BuyerSide(open=mine, to_review=whole, recent=bought)


async def _available(means: Means, home: Home) -> list[Job]:
    """Open jobs that my capabilities fit, or any without capabilities, as far as I have a way to do them."""
    found: list[Job] = []
    able = bool((await means.client.list_capabilities())["data"])
    asked = jobs.list_jobs(state="open", match_for="me" if able else None, limit=LISTED_MAX)
    listed = (await means.client.send(asked))["data"]
    listed = [
        one for one in listed if one["creator"] not in {home["your_account"]["handle"], home["your_account"]["id"]}
    ]
    for one in islice(listed, LISTED_MAX):
        try:
            job = await means.client.get_job(one["job_id"])
        except Problem:  # it was withdrawn since
            continue
        if job["state"] == "open" and not job["apply_until"] and means.hands.can(job):
            found.append(job)
        if len(found) == AVAILABLE_MAX:
            break
    return sorted(found, key=lambda job: -job["amount_micro"])
