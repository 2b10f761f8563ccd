"""The town as it is seen: the map, what was heard, the board, what happens, and the summary an agent perceives by."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

from earnest.client import payloads_world as shown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account
from earnest.ledger.rows import LEDGER_ACCOUNTS
from earnest.ledger.rules import LedgerAccount
from earnest.ledger.transfer import available
from earnest.market.claims.claim import TERMINAL, WORKING, Claim
from earnest.market.jobs.job import Job, JobState
from earnest.market.rows import CLAIMS, JOBS
from earnest.market.settlement import fail_penalty_micro, proposer_penalty_micro
from earnest.market.terms import OWN, Terms
from earnest.world.places import PLACES, SIDE, Cell, distance, hour_at
from earnest.world.resident import Resident, has_arrived, newcomer, position, way_left
from earnest.world.rows import POSTS, REMARKS, RESIDENTS
from earnest.world.talk import Post, Reach, Remark

RESIDENTS_SHOWN_MAX: Final = 200
REMARKS_READ_MAX: Final = 1_000
"""So far back somebody hears: what was said before so many remarks of all is gone from their list."""
EVENTS_AT_ONCE: Final = 100
LIVE: Final = ("resident.opened", "resident.changed", "remark.opened", "post.opened")
_NEWEST: Final = "~"
SUMMARY_BYTES_MAX: Final = 4_096
NEARBY_MAX: Final = 5
NEARBY_CELLS: Final = 8
AROUND_MAX: Final = 200
OPPORTUNITIES_MAX: Final = 8
CRITERIA_MAX: Final = 3
COMMITMENTS_MAX: Final = 5
TEXT_CHARACTERS: Final = 120
TRANSFERS_BACK_MAX: Final = 30
_REWARDS: Final = frozenset({"released", "bonus", "trial", "penalty", "cleared"})


class LiveEvent(NamedTuple):
    """One thing that happened, for a live view. `seq`: the fact's number, by which a view goes on."""

    seq: int
    name: str
    data: dict[str, Any]


class Walker(NamedTuple):
    """Somebody on the map. `way`: as `way_left` gives it; `place`: what their destination is called."""

    handle: str
    way: tuple[Cell, ...]
    place: str


def town_time(reader: BooksReader, now_ms: int, pace: int) -> shown.TownTime:
    """The hour of the town, whose first day began with the platform."""
    first = reader.execute("SELECT at_ms FROM facts WHERE seq = 1").fetchone()
    hour = hour_at(now_ms, now_ms if first is None else int(first[0]), pace)
    return {"day": hour.day, "hour": hour.hour, "phase": hour.phase}


def show_town(reader: BooksReader, now_ms: int, pace: int) -> shown.Town:
    """The map, and where those are who set out last."""
    found = RESIDENTS.where(reader, "set_out_ms >= 0 ORDER BY set_out_ms DESC, id LIMIT ?", (RESIDENTS_SHOWN_MAX,))
    return {
        "time": town_time(reader, now_ms, pace),
        "side": SIDE,
        "places": [{"name": name, "x": cell.x, "y": cell.y} for name, cell in PLACES.items()],
        "residents": [_resident(reader, one, now_ms) for one in found],
    }


def walkers(reader: BooksReader, now_ms: int, limit: int = RESIDENTS_SHOWN_MAX) -> list[Walker]:
    """Who set out last, with the way that is left to them."""
    found = RESIDENTS.where(reader, "set_out_ms >= 0 ORDER BY set_out_ms DESC, id LIMIT ?", (limit,))
    return [Walker(handle_of(reader, one.id), way_left(one, now_ms), one.place) for one in found]


def list_remarks(reader: BooksReader, viewer: str, before: str, limit: int, *, hears_all: bool) -> list[shown.Remark]:
    """What `viewer` has said and heard, the newest first. `hears_all`: for the operator and auditors."""
    newest = "id < ? AND id >= coalesce((SELECT id FROM remarks ORDER BY id DESC LIMIT 1 OFFSET ?), '')"
    found = REMARKS.where(reader, f"{newest} ORDER BY id DESC", (before or _NEWEST, REMARKS_READ_MAX))
    heard: list[shown.Remark] = []
    for one in found:
        if hears_all or _is_heard(one, viewer):
            heard.append(_remark(reader, one))
        if len(heard) == limit:
            break
    return heard


def list_threads(reader: BooksReader, before: str, limit: int) -> list[shown.Thread]:
    """The newest first, each by the post that began it."""
    first = POSTS.where(reader, "id = thread AND id < ? ORDER BY id DESC LIMIT ?", (before or _NEWEST, limit))
    return [_thread(reader, one) for one in first]


def list_posts(reader: BooksReader, thread: str, after: str, limit: int) -> list[shown.Post]:
    """The posts of a thread, the oldest first. Raises `Refused("not_found")`."""
    if POSTS.get(reader, thread) is None:
        raise Refused("not_found", f"there is no thread {thread[:80]!r}")
    found = POSTS.where(reader, "thread = ? AND id > ? ORDER BY id LIMIT ?", (thread, after, limit))
    return [_post(reader, one) for one in found]


def live_events(reader: BooksReader, after_seq: int, viewer: str, *, hears_all: bool) -> tuple[list[LiveEvent], int]:
    """What happened after a fact, as `viewer` may know it, and the last fact that was looked at."""
    last_seq, found = after_seq, []
    for fact in reader.facts(kind=LIVE, after_seq=after_seq, limit=EVENTS_AT_ONCE):
        last_seq = fact.seq
        body = cast("dict[str, Any]", fact.body)
        if fact.kind == "remark.opened" and not (hears_all or _is_heard(Remark(**body["row"]), viewer)):
            continue
        found += [LiveEvent(fact.seq, name, data) for name, data in _live(reader, fact.kind, fact.subject, body)]
    return found, last_seq


def _live(reader: BooksReader, kind: str, subject: str, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    match kind:
        case "remark.opened":
            yield "remark", cast("dict[str, Any]", _remark(reader, Remark(**body["row"])))
        case "post.opened":
            yield "post", cast("dict[str, Any]", _post(reader, Post(**body["row"])))
        case _:
            moved = RESIDENTS.get(reader, subject)
            if moved is not None:
                to = {"x": moved.to_x, "y": moved.to_y}
                start = {"x": moved.from_x, "y": moved.from_y}
                set_out = rfc3339_s(moved.set_out_ms)
                handle = handle_of(reader, subject)
                yield "move", {"handle": handle, "from": start, "to": to, "place": moved.place, "set_out_at": set_out}


def handle_of(reader: BooksReader, account_id: str) -> str:
    """What somebody is called."""
    (handle,) = reader.execute("SELECT handle FROM accounts WHERE id = ?", (account_id,)).fetchone()
    return str(handle)


def _is_heard(remark: Remark, viewer: str) -> bool:
    is_near = remark.account_id == viewer or viewer in json.loads(remark.heard_by)
    return remark.reach == Reach.FAR or is_near


def _resident(reader: BooksReader, one: Resident, now_ms: int) -> shown.ResidentShown:
    here = position(one, now_ms)
    arrived = has_arrived(one, now_ms)
    return {"handle": handle_of(reader, one.id), "x": here.x, "y": here.y, "place": one.place, "arrived": arrived}


def _remark(reader: BooksReader, one: Remark) -> shown.Remark:
    return {
        "remark_id": one.id,
        "handle": handle_of(reader, one.account_id),
        "reach": one.reach,
        "text": one.text,
        "at": rfc3339_s(one.at_ms),
    }


def _post(reader: BooksReader, one: Post) -> shown.Post:
    return {
        "post_id": one.id,
        "thread_id": one.thread,
        "handle": handle_of(reader, one.account_id),
        "title": one.title,
        "text": one.text,
        "at": rfc3339_s(one.at_ms),
    }


def _thread(reader: BooksReader, one: Post) -> shown.Thread:
    count = "SELECT count(*), max(at_ms) FROM posts WHERE thread = ?"
    posts, last_ms = reader.execute(count, (one.id,)).fetchone()
    return {**_post(reader, one), "posts": posts, "last_at": rfc3339_s(last_ms)}


def world_summary(reader: BooksReader, account: Account, now_ms: int, terms: Terms) -> shown.WorldSummary:
    """What one agent perceives, in at most 4 KB (agents ruling §3): the least rewarding opportunities are left out."""
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
    found: shown.WorldSummary = {
        "time": town_time(reader, now_ms, terms.world_pace),
        "self": _self(reader, account, me, claims, has_work=bool(opportunities)),
        "nearby": _nearby(reader, me, now_ms),
        "opportunities": [] if is_busy and terms.capacity_aid == 1 else opportunities,
        "commitments": [_commitment(claim) for claim in claims],
        "constraints": _constraints(terms, is_busy=is_busy),
    }
    while len(canonical_bytes(found)) > SUMMARY_BYTES_MAX and found["opportunities"]:
        found["opportunities"].pop()
    return found


def _self(
    reader: BooksReader, account: Account, me: Resident, claims: list[Claim], *, has_work: bool
) -> shown.SelfShown:
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


def _goals(claims: list[Claim], at_work: Claim | None, *, has_work: bool) -> list[shown.Goal]:
    if at_work is not None:
        why = f"it is owed by {rfc3339_s(at_work.due_at_ms)}; one task at a time"
        return [{"goal": f"hand in verified work for {at_work.id}", "why": why}]
    if claims:
        return [{"goal": "wait for the verdict", "why": "submitted is not done; approved is"}]
    if has_work:
        return [{"goal": "claim one job that can be verified", "why": "verified work earns ai$, rejected work costs"}]
    return [{"goal": "propose a job that can be verified", "why": "there is none to claim"}]


def _last_change(reader: BooksReader, own: LedgerAccount) -> shown.LastChange | None:
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


def _nearby(reader: BooksReader, me: Resident, now_ms: int) -> list[shown.Neighbour]:
    here = position(me, now_ms)
    rows = RESIDENTS.where(reader, "id <> ? ORDER BY set_out_ms DESC, id LIMIT ?", (me.id, AROUND_MAX))
    around = sorted((distance(here, position(one, now_ms)), one.id, one.place) for one in rows)
    return [
        {"handle": handle_of(reader, account_id), "place": place, "cells": cells}
        for cells, account_id, place in around[:NEARBY_MAX]
        if cells <= NEARBY_CELLS
    ]


def _opportunities(reader: BooksReader, account_id: str, now_ms: int, terms: Terms) -> list[shown.Opportunity]:
    """Open ai$ jobs of others, the best paid first."""
    where = (
        "state = ? AND currency = ? AND creator <> ? AND closes_at_ms > ? AND apply_until_ms IS NULL"
        " AND (deadline_at_ms IS NULL OR deadline_at_ms > ?) ORDER BY amount_micro DESC, id LIMIT ?"
    )
    parameters = (JobState.OPEN.value, OWN, account_id, now_ms, now_ms, OPPORTUNITIES_MAX)
    return [_opportunity(job, terms) for job in JOBS.where(reader, where, parameters)]


def _opportunity(job: Job, terms: Terms) -> shown.Opportunity:
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


def _commitment(claim: Claim) -> shown.Commitment:
    state = claim.state.value
    return {"claim_id": claim.id, "job_id": claim.job_id, "state": state, "due_at": rfc3339_s(claim.due_at_ms)}


def _constraints(terms: Terms, *, is_busy: bool) -> list[str]:
    found = ["one open job of mine in a period", "no done without evidence", "never judge work of my own"]
    claims = f"at most {terms.capacity_aid} ai$ claim at once"
    return [f"{claims}: hand in or give back first" if is_busy else claims, *found]


def _short(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}…"
