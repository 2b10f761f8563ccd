"""Agents: all of them, and one with its contract, score, capabilities, reputation and keys."""

import difflib
from typing import Any, Final, cast

from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind
from earnest.surfaces.dashboard.charts import score_chart
from earnest.surfaces.dashboard.look import Look, Visitor
from earnest.views import accounts, overview
from earnest.views.agents_public import activity_of, find_agent, show_agent, signal_json, signals_of
from earnest.views.claims import find_claim, list_claims
from earnest.views.records import BROKEN, cost_of, is_public, track_record
from earnest.views.score import list_events, list_heartbeats, show_agreement, show_score

PAGE: Final = 50
EVENTS_MAX: Final = 12
HEARTBEATS_MAX: Final = 10
ACTIVITY_MAX: Final = 20
CLAIMS_MAX: Final = 10
AT_DIGITS_MAX: Final = 16


def show_agents(look: Look) -> tuple[str, dict[str, Any]]:
    """All agents, by handle."""
    found = overview.agents(look.reader, look.query.get("after", "")[:40], PAGE + 1)
    records = {one.id: track_record(look.reader, one.id, look.now_ms) for one in found[:PAGE]}
    views = {}
    if look.sees_all:
        views = {
            one.id: overview.agent_view(look.reader, one.id, look.now_ms, look.terms, records[one.id])
            for one in found[:PAGE]
        }
    return "agents.html", {
        "title": "Agents",
        "agents": found[:PAGE],
        "records": records,
        "views": views,
        "more": found[PAGE - 1].handle if len(found) > PAGE else "",
    }


def show_agent_page(look: Look) -> tuple[str, dict[str, Any]]:
    """One agent: what anybody may know, and the rest for itself and those who see all."""
    account = find_agent(look.reader, look.params["handle"])
    public = show_agent(look.reader, account.handle, look.now_ms)
    is_mine = account.id == look.my_id
    record, signals = track_record(look.reader, account.id, look.now_ms), _signals(look, account.id)
    given: dict[str, Any] = {
        "title": f"@{account.handle}",
        "agent": public,
        "record": record,
        "signals": signals[:EVENTS_MAX],
        "more": {"record": signals[EVENTS_MAX - 1]["place"] if len(signals) > EVENTS_MAX else ""},
        "activity": activity_of(look.reader, account.handle, ACTIVITY_MAX)["data"],
        "sees": is_mine or look.sees_all,
        "is_mine": is_mine,
    }
    if not given["sees"] or account.kind is not AccountKind.AGENT:
        return "agent.html", {**given, "sees": False}
    heartbeats = list_heartbeats(look.reader, account.id, _before(look, "heartbeats"), HEARTBEATS_MAX + 1)
    claims = list_claims(look.reader, account.id, role="seller", after=_before(look, "claims"), limit=CLAIMS_MAX + 1)
    return "agent.html", {
        **given,
        "view": overview.agent_view(look.reader, account.id, look.now_ms, look.terms, record),
        "score": show_score(look.reader, account.id, look.now_ms, look.terms),
        "chart": score_chart(look, account.id, account.handle),
        "events": list_events(look.reader, account.id, "", EVENTS_MAX),
        "heartbeats": heartbeats[:HEARTBEATS_MAX],
        "claims": claims[:CLAIMS_MAX],
        "more": given["more"]
        | {
            "heartbeats": heartbeats[HEARTBEATS_MAX - 1]["heartbeat_id"] if len(heartbeats) > HEARTBEATS_MAX else "",
            "claims": claims[CLAIMS_MAX - 1]["claim_id"] if len(claims) > CLAIMS_MAX else "",
        },
        "agreement": _agreement(look, account.id),
        "keys": accounts.my_keys(look.reader, account.id)["data"] if look.visitor is not Visitor.LOCAL else [],
        "account": accounts.account(look.reader, account.id),
    }


def _signals(look: Look, account_id: str) -> list[dict[str, Any]]:
    """What its reputation is made of, each with the claim whose end it is and what that cost."""
    at, _, last = _before(look, "record").partition(" ")
    before = (int(at), last) if at.isdecimal() and len(at) < AT_DIGITS_MAX else None
    found = []
    for signal in signals_of(look.reader, account_id, before=before, limit=EVENTS_MAX + 1):
        claim = find_claim(look.reader, signal.claim_id, "", sees_all=True)
        cost = cost_of(look.reader, claim) if signal.kind in BROKEN else None
        found.append(
            {
                **signal_json(signal),
                "place": f"{signal.at_ms} {signal.id}",
                "title": claim.job_title,
                "cost": cost,
                "has_proof": is_public(look.reader, claim),
            }
        )
    return found


def _before(look: Look, name: str) -> str:
    """After which of a list it goes on; the newest first."""
    return look.query.get(name, "")[:80]


def _agreement(look: Look, account_id: str) -> dict[str, Any] | None:
    """What the agent is held to, with the difference of what it offers; None before it has shown a contract."""
    try:
        found = cast("dict[str, Any]", show_agreement(look.reader, account_id))
    except Refused:
        return None
    lines = difflib.unified_diff(
        found["contract"].splitlines(), (found["offered"] or "").splitlines(), "accepted", "offered", lineterm=""
    )
    return {**found, "diff": "\n".join(lines) if found["offered"] else ""}
