"""What an agent perceives, in at most 4 KB (agents ruling §3): time, itself, who is near, what there is to do."""

import json
from typing import Final

from earnest.client.payloads_world import (
    Commitment,
    Goal,
    LastChange,
    Neighbour,
    Opportunity,
    SelfShown,
    WorldSummary,
)
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account
from earnest.ledger.accounts import available
from earnest.ledger.rows import LEDGER_ACCOUNTS
from earnest.ledger.transfer import LedgerAccount
from earnest.market.claims.claim import TERMINAL, WORKING, Claim
from earnest.market.jobs.job import Job, JobState
from earnest.market.rows import CLAIMS, JOBS
from earnest.market.settlement import fail_penalty_micro, proposer_penalty_micro
from earnest.market.terms import OWN, Terms
from earnest.views.world import town_time
from earnest.world.places import distance
from earnest.world.resident import Resident, newcomer, position
from earnest.world.rows import RESIDENTS

BYTES_MAX: Final = 4_096
NEARBY_MAX: Final = 5
NEARBY_CELLS: Final = 8
AROUND_MAX: Final = 200
OPPORTUNITIES_MAX: Final = 8
CRITERIA_MAX: Final = 3
COMMITMENTS_MAX: Final = 5
TEXT_CHARACTERS: Final = 120
TRANSFERS_BACK_MAX: Final = 30
_REWARDS: Final = frozenset({"released", "bonus", "trial", "penalty", "cleared"})


def world_summary(reader: BooksReader, account: Account, now_ms: int, terms: Terms) -> WorldSummary:
    """The summary of one agent. Opportunities that do not fit are left out, the least rewarding first."""
    me = RESIDENTS.get(reader, account.id) or newcomer(account.id, now_ms)
    live = ", ".join("?" * len(TERMINAL))
    owed = CLAIMS.where(
        reader,
        f"seller = ? AND state NOT IN ({live}) ORDER BY due_at_ms, id LIMIT ?",
        (account.id, *sorted(TERMINAL), COMMITMENTS_MAX),
    )
    claims = list(owed)
    opportunities = _opportunities(reader, account.id, now_ms, terms)
    is_busy = any(claim.state in WORKING for claim in claims)
    found: WorldSummary = {
        "time": town_time(reader, now_ms, terms.world_pace),
        "self": _self(reader, account, me, claims, has_work=bool(opportunities)),
        "nearby": _nearby(reader, me, now_ms),
        "opportunities": [] if is_busy and terms.capacity_aid == 1 else opportunities,
        "commitments": [_commitment(claim) for claim in claims],
        "constraints": _constraints(terms, is_busy=is_busy),
    }
    while len(canonical_bytes(found)) > BYTES_MAX and found["opportunities"]:
        found["opportunities"].pop()
    return found


def _self(reader: BooksReader, account: Account, me: Resident, claims: list[Claim], *, has_work: bool) -> SelfShown:
    own = LEDGER_ACCOUNTS.get(reader, available(account.id, OWN))
    at_work = next((claim for claim in claims if claim.state in WORKING), None)
    return {
        "handle": account.handle,
        "place": me.place,
        "task": None if at_work is None else _short(at_work.job_title),
        "balance_micro": 0 if own is None else own.free_micro,
        "last_change": None if own is None else _last_change(reader, own),
        "goals": _goals(claims, at_work, has_work=has_work),
    }


def _goals(claims: list[Claim], at_work: Claim | None, *, has_work: bool) -> list[Goal]:
    if at_work is not None:
        why = f"it is owed by {rfc3339_s(at_work.due_at_ms)}; one task at a time"
        return [{"goal": f"hand in verified work for {at_work.id}", "why": why}]
    if claims:
        return [{"goal": "wait for the verdict", "why": "submitted is not done; approved is"}]
    if has_work:
        return [{"goal": "claim one job that can be verified", "why": "verified work earns ai$, rejected work costs"}]
    return [{"goal": "propose a job that can be verified", "why": "there is none to claim"}]


def _last_change(reader: BooksReader, own: LedgerAccount) -> LastChange | None:
    """The newest transfer of an account that was a reward or a penalty, going back along its own list."""
    number = own.last
    row = "SELECT credit, amount_micro, reason, at_ms, debit_before, credit_before FROM transfers WHERE number = ?"
    for _ in range(TRANSFERS_BACK_MAX):
        found = reader.execute(row, (number,)).fetchone() if number else None
        if found is None:
            return None
        credit, amount_micro, reason, at_ms, debit_before, credit_before = found
        if reason in _REWARDS:
            signed = amount_micro if credit == own.id else -amount_micro
            return {"reason": reason, "amount_micro": signed, "at": rfc3339_s(at_ms)}
        number = credit_before if credit == own.id else debit_before
    return None


def _nearby(reader: BooksReader, me: Resident, now_ms: int) -> list[Neighbour]:
    here = position(me, now_ms)
    rows = RESIDENTS.where(reader, "id <> ? ORDER BY set_out_ms DESC, id LIMIT ?", (me.id, AROUND_MAX))
    around = sorted((distance(here, position(one, now_ms)), one.id, one.place) for one in rows)
    handles = "SELECT handle FROM accounts WHERE id = ?"
    return [
        {"handle": reader.execute(handles, (account_id,)).fetchone()[0], "place": place, "cells": cells}
        for cells, account_id, place in around[:NEARBY_MAX]
        if cells <= NEARBY_CELLS
    ]


def _opportunities(reader: BooksReader, account_id: str, now_ms: int, terms: Terms) -> list[Opportunity]:
    """Open ai$ jobs of others, the best paid first."""
    where = (
        "state = ? AND currency = ? AND creator <> ? AND closes_at_ms > ? AND apply_until_ms IS NULL"
        " AND (deadline_at_ms IS NULL OR deadline_at_ms > ?) ORDER BY amount_micro DESC, id LIMIT ?"
    )
    parameters = (JobState.OPEN.value, OWN, account_id, now_ms, now_ms, OPPORTUNITIES_MAX)
    return [_opportunity(job, terms) for job in JOBS.where(reader, where, parameters)]


def _opportunity(job: Job, terms: Terms) -> Opportunity:
    criteria = json.loads(job.criteria)
    kinds = sorted({one["check"]["kind"] for one in criteria if "check" in one})
    by_people = job.acceptance in {"proposer", "buyer"}
    risk = proposer_penalty_micro if by_people else fail_penalty_micro
    return {
        "job_id": job.id,
        "title": _short(job.title),
        "criteria": [_short(one["text"]) for one in criteria[:CRITERIA_MAX]],
        "check": ", ".join(kinds) or job.acceptance,
        "reward_micro": job.amount_micro,
        "risk_micro": risk(job, terms),
    }


def _commitment(claim: Claim) -> Commitment:
    state = claim.state.value
    return {"claim_id": claim.id, "job_id": claim.job_id, "state": state, "due_at": rfc3339_s(claim.due_at_ms)}


def _constraints(terms: Terms, *, is_busy: bool) -> list[str]:
    found = ["one open job of mine in a period", "no done without evidence", "never judge work of my own"]
    claims = f"at most {terms.capacity_aid} ai$ claim at once"
    return [f"{claims}: hand in or give back first" if is_busy else claims, *found]


def _short(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}…"
