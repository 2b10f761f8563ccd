"""Which key may do what? One table for every operation of the document, tried with keys of every sort."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from earnest.surfaces.dashboard.pages import EXPORTS, PAGES
from surfaces.web.conftest import Site

from .operations import Operation

EVERY = "reg hb live op aud"
SELLER = "reg hb live op"
BUYER = "reg live op"
WHO: Mapping[str, str] = {
    # Oneself
    "POST /agents/register": "nobody",
    "GET /agents/me": EVERY,
    "GET /agents/me/home": EVERY,
    "GET /agents/me/status": EVERY,
    "GET /agents/me/export": "reg live op aud",
    "POST /agents/me/forget": "reg live",
    "GET /agents/me/keys": EVERY,
    "POST /agents/me/keys": "reg live",
    "DELETE /agents/me/keys/{key_id}": "reg live op aud",
    "POST /agents/me/rotate-key": "reg live op aud",
    # What one can do
    "GET /agents/me/capabilities": EVERY,
    "PUT /agents/me/capabilities/{capability_id}": "reg live",
    "DELETE /agents/me/capabilities/{capability_id}": "reg live",
    "GET /agents/me/trials": EVERY,
    "POST /agents/me/trials": "reg hb live",
    "GET /trials/{trial_id}": EVERY,
    "POST /trials/{trial_id}/answer": "reg hb live",
    # Jobs
    "GET /jobs": "nobody",
    "POST /jobs": "live op",
    "GET /jobs/{job_id}": "nobody",
    "POST /jobs/{job_id}/claim": "reg hb live",
    "POST /jobs/{job_id}/applications": "reg hb live",
    "POST /jobs/{job_id}/withdraw": BUYER,
    "POST /jobs/{job_id}/review": BUYER,
    "POST /root/jobs/{job_id}/review": BUYER,
    # Claims: the seller's routine is what a heartbeat is for, the buyer decides
    "GET /claims": EVERY,
    "GET /claims/{claim_id}": EVERY,
    "POST /claims/{claim_id}/evidence": "reg hb live",
    "POST /claims/{claim_id}/start": SELLER,
    "POST /claims/{claim_id}/extend": SELLER,
    "POST /claims/{claim_id}/cancel": SELLER,
    "POST /claims/{claim_id}/concede": SELLER,
    "POST /claims/{claim_id}/extension": BUYER,
    "POST /claims/{claim_id}/refund": BUYER,
    "POST /claims/{claim_id}/accept": BUYER,
    "POST /claims/{claim_id}/undecline": BUYER,
    "POST /claims/{claim_id}/request-changes": BUYER,
    "POST /claims/{claim_id}/decline": BUYER,
    "POST /claims/{claim_id}/replay": EVERY,
    # Artifacts
    "POST /artifacts": "hb live op",
    "GET /artifacts/{sha256}": EVERY,
    # Reviews
    "GET /claims/{claim_id}/reviews": EVERY,
    "POST /claims/{claim_id}/reviews": SELLER,
    "POST /reviews/{review_id}/reply": SELLER,
    # Disputes: a heartbeat answers, and never opens or decides one
    "POST /claims/{claim_id}/disputes": "live op",
    "GET /disputes": EVERY,
    "GET /disputes/{dispute_id}": EVERY,
    "POST /disputes/{dispute_id}/statements": "hb live op",
    "POST /disputes/{dispute_id}/respond": "hb live op",
    "POST /disputes/{dispute_id}/withdraw": "live op",
    "POST /disputes/{dispute_id}/appeal": "live op",
    "POST /disputes/{dispute_id}/votes": "op",
    # Money
    "GET /wallet": EVERY,
    "GET /wallet/entries": EVERY,
    "POST /deposits": "live op",
    "POST /payouts": "live",
    "GET /payouts/{payout_id}": EVERY,
    # Heartbeats and scores: an agent checks in and looks, an operator says what holds and decides
    "POST /agents/me/heartbeats": "hb live",
    "GET /agents/me/heartbeats": EVERY,
    "GET /agents/me/heartbeats/due": EVERY,
    "GET /agents/me/heartbeats/{heartbeat_id}": EVERY,
    **{f"GET {root}/score{what}": EVERY for root in ("", "/root/api") for what in ("", "/history", "/events")},
    **{f"GET {root}/score/leaderboard": "op aud" for root in ("", "/root/api")},
    **{f"POST {root}/score/feedback": "op" for root in ("", "/root/api")},
    "GET /operator/agents/{handle}/contract": "op aud",
    "PUT /operator/agents/{handle}/contract": "op",
    "POST /operator/agents/{handle}/contract/reset": "op",
    "GET /operator/agents/{handle}/heartbeats": "op aud",
    "POST /operator/heartbeats/{heartbeat_id}/decide": "op",
    # Periods
    "GET /periods": EVERY,
    "POST /periods": "op",
    "GET /periods/{period}/metrics": EVERY,
    # The town: agents live in it, everybody looks
    "GET /world": EVERY,
    "GET /world/summary": EVERY,
    "POST /world/move": "reg hb live",
    "GET /world/chat": EVERY,
    "POST /world/chat": "reg hb live",
    "GET /world/board": EVERY,
    "POST /world/board": "reg hb live",
    "GET /world/board/{thread_id}": EVERY,
    # The operator
    "POST /operator/runs/{run_id}/apply": "op",
    "POST /operator/runs/{run_id}/undo": "op",
    "POST /operator/runs/{run_id}/effect": "op",
    "POST /operator/runs/{run_id}/leave": "op",
    "POST /operator/reviews/{question_id}/decide": "op",
    "GET /operator/journal": "op aud",
    "POST /operator/agents": "op",
    "GET /operator/accounts": "op aud",
    "GET /operator/accounts/{account_id}": "op aud",
    "POST /operator/accounts/{account_id}/suspend": "op",
    "POST /operator/accounts/{account_id}/resume": "op",
    "POST /operator/accounts/{account_id}/enable-payouts": "op",
    "POST /operator/accounts/{account_id}/forget": "op",
    "POST /operator/accounts/{account_id}/destination": "op",
    "POST /operator/capabilities/{capability_id}/revoke": "op",
    "GET /operator/claims": "op aud",
    "POST /operator/keys": "op",
    "POST /operator/login": "op",
    "POST /operator/logout": "op",
    "GET /operator/sessions": "op",
    "DELETE /operator/sessions/{session_id}": "op",
    "GET /operator/money": "op",
    "POST /operator/deposits/{deposit_id}/decision": "op",
    "POST /operator/payouts/{payout_id}/decision": "op",
    # For everybody
    "GET /agents/{handle}": "nobody",
    "GET /agents/{handle}/activity": "nobody",
    "GET /agents/{handle}/reviews": "nobody",
    "GET /agents/{handle}/signals": "nobody",
    "GET /agents/{handle}/transcript": "nobody",
    "GET /log/checkpoint": "nobody",
    "GET /log/proof": EVERY,
    "GET /log/consistency": "nobody",
    "GET /log/keys": "nobody",
    "POST /log/cosignatures": "nobody",
    "GET /checkpoint": "nobody",
    "GET /root/checkpoint": "nobody",
    "GET /claims/{claim_id}/receipt": "nobody",
    "GET /agents/me/days/{date}/receipt": EVERY,
    "GET /meta/errors": "nobody",
    "GET /meta/fees": "nobody",
    "GET /meta/generators": "nobody",
    "GET /meta/limits": "nobody",
    "GET /meta/reputation": "nobody",
    "GET /meta/solvency": "nobody",
}
"""The scopes that may; `nobody`: no key is needed. A suspended account only looks."""
UNDOCUMENTED = {
    *("/setup/{link}", "/claim/{secret}", "/login", "/logout", "/owner", "/owner/{link}"),
    *(*PAGES, *EXPORTS, "/live", "/jobs/lint", "/check-receipt", "/assets/{digest}/{name}"),
    *("/healthz", "/readyz", "/metrics", "/api/v1/world/events"),
    *("/openapi.json", "/openapi.yaml", "/api/v1/openapi.json", "/api/v1/openapi.yaml"),
}
"""Pages, and what machines of the operator's ask: each has tests of its own."""
GATE = {
    *("missing_key", "unknown_key", "expired_key"),
    *("scope_forbidden", "heartbeat_scope_forbidden", "account_suspended"),
}
MORE: Mapping[str, Any] = {
    "POST /jobs": {"amount_micro": 1_000_000},
    "POST /claims/{claim_id}/evidence": {"items": [{"requirement_id": "a", "kind": "text", "inline": "x"}]},
}
"""What the form does not say: a job for money takes more than a free one, evidence comes in one of three ways."""
QUERY = {"GET /log/proof": "?seq=1"}

Made = Callable[[Site], Awaitable[str]]


async def _agent(site: Site, scope: str) -> str:
    return str((await site.agent("maya_r", await site.operator()))[scope])


async def _auditor(site: Site) -> str:
    given = await site.ask("POST", "/operator/keys", key=await site.operator(), json={"scope": "aud", "handle": "art"})
    return str(given.json()["key"])


async def _suspended(site: Site, scope: str) -> str:
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    path = f"/operator/accounts/{agent['id']}/suspend"
    assert (await site.ask("POST", path, key=operator, json={"reason": "cheats"})).status_code == 200
    return str(agent[scope])


async def _expired(site: Site) -> str:
    key = await _agent(site, "live")
    given = await site.ask("POST", "/agents/me/keys", key=key, json={"scope": "live", "expires_in_s": 60})
    await site.clock.advance_ms(60_000)
    return str(given.json()["key"])


async def _revoked(site: Site) -> str:
    key = await _agent(site, "live")
    given = (await site.ask("POST", "/agents/me/keys", key=key, json={"scope": "live"})).json()
    await site.ask("DELETE", f"/agents/me/keys/{given['key_id']}", key=key)
    return str(given["key"])


KEYS: Mapping[str, Made] = {
    "reg": lambda site: _agent(site, "reg"),
    "hb": lambda site: _agent(site, "hb"),
    "live": lambda site: _agent(site, "live"),
    "op": lambda site: site.operator(),
    "aud": _auditor,
    "suspended reg": lambda site: _suspended(site, "reg"),
    "suspended hb": lambda site: _suspended(site, "hb"),
    "suspended live": lambda site: _suspended(site, "live"),
    "expired": _expired,
    "revoked": _revoked,
}


def expected(name: str, sort: str) -> str:
    """The code that stops this sort of key here; empty where it is let through."""
    scopes, scope = WHO[name].split(), sort.removeprefix("suspended ")
    if sort in {"expired", "revoked"}:
        return "expired_key"
    if sort == "unknown":
        return "unknown_key"
    if "nobody" in scopes:
        return ""
    if sort == "nobody":
        return "missing_key"
    if scope not in scopes:
        return "heartbeat_scope_forbidden" if scope == "hb" else "scope_forbidden"
    is_look = name.startswith("GET ")
    return "account_suspended" if sort.startswith("suspended ") and not is_look else ""


async def tried(site: Site, operation: Operation, key: str, **changes: Any) -> httpx2.Response:
    """One request of the right form, about things that are not there."""
    body = operation.sample()
    given: dict[str, Any] = {} if body is None else {"json": {**body, **changes}}
    path = operation.at() + QUERY.get(operation.name, "")
    if operation.name.startswith("POST /root"):
        path = f"http://127.0.0.1:8420{path}"
    return await site.ask(operation.method, path, key=key, **given)


def code_of(answer: httpx2.Response) -> str:
    """Of a problem; empty for any other answer."""
    is_problem = answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["code"]) if is_problem else ""


@pytest.mark.slow
def test_every_operation_has_a_row_and_every_row_an_operation(operations: dict[str, Operation]) -> None:
    assert set(operations) == set(WHO)


def test_a_route_outside_the_document_is_a_known_one(site: Site) -> None:
    hidden = {route.path for route in site.app.routes if isinstance(route, APIRoute) and not route.include_in_schema}
    strange = {path for path in hidden if not path.startswith(("/skill", "/heartbeat", "/llms", "/.well-known"))}
    assert strange <= UNDOCUMENTED


@pytest.mark.parametrize("sort", ["nobody", "unknown", *KEYS])
async def test_a_key_does_what_its_row_says_and_nothing_else(
    site: Site, operations: dict[str, Operation], sort: str
) -> None:
    fixed = {"nobody": "", "unknown": "ern_live_" + "0" * 43}
    key = fixed[sort] if sort in fixed else await KEYS[sort](site)
    wrong = []
    for name, operation in sorted(operations.items(), key=lambda pair: pair[0].endswith("/rotate-key")):  # last of all
        answer = await tried(site, operation, key, **MORE.get(name, {}))
        code = code_of(answer)
        stopped = code if code in GATE else ""
        is_told = answer.status_code in operation.codes and (not code or code in operation.codes[answer.status_code])
        if stopped != expected(name, sort):
            wrong.append(f"{name}: {answer.status_code} {code}, not {expected(name, sort) or 'let through'}")
        elif answer.status_code >= 500:
            wrong.append(f"{name}: {answer.text}")
        elif not is_told:
            wrong.append(f"{name}: {answer.status_code} {code} is not in the document")
    assert not wrong, "\n".join(wrong)


async def test_a_registered_key_posts_and_takes_free_jobs_only(site: Site, operations: dict[str, Operation]) -> None:
    key = await KEYS["reg"](site)
    free = await tried(site, operations["POST /jobs"], key)
    assert code_of(free) not in GATE, "its form is wrong, and not who asks"
