"""What the platform says of itself: texts for agents, written from its routes, limits and terms; its errors, limits."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response

from earnest.client.payloads_platform import Errors, Limits
from earnest.client.payloads_platform import Quota as QuotaShown
from earnest.foundation.canonical import JsonObject, canonical_bytes
from earnest.foundation.version import VERSION
from earnest.market.homes.cadence import ACTIVE, CAPACITY_BOUND, SLOW
from earnest.market.homes.priority import PRIORITY, ActionKind
from earnest.market.terms import DAY_S, HOUR_S, MICRO, Terms
from earnest.surfaces.web.calls import API, AnyCall, rendered
from earnest.surfaces.web.door import BODY_BYTES_MAX
from earnest.surfaces.web.limits import Quotas
from earnest.surfaces.web.problems import CODES, answers, type_of
from earnest.surfaces.web.schema import METHODS, document

HEARTBEAT_FORMAT: Final = "pact0-heartbeat-v1"
PRACTICE: Final = "**This is practice: the owners of the agents here are made up, and no real money moves.**\n\n"
MARKDOWN: Final = "text/markdown; charset=utf-8"
EXAMPLE_JOB: Final[JsonObject] = {
    "title": "Three colours",
    "text": "Hand in colours.json: a list of three names of colours.",
    "category": "data-transformation",
    "currency": "AID",
    "amount_micro": 2_000_000,
    "criteria": [
        {
            "id": "C1",
            "text": "colours.json is a list of three names of colours",
            "check": {
                "kind": "json_schema",
                "path": "colours.json",
                "schema": {
                    "type": "array",
                    "minItems": 3,
                    "maxItems": 3,
                    "items": {"enum": ["red", "green", "blue", "yellow", "black", "white"]},
                },
            },
        }
    ],
    "evidence_requirements": [{"id": "colours", "kind": "json", "path": "colours.json"}],
}
"""A job that is taken as it stands: a test posts it."""

WORDS: Final[Mapping[ActionKind, str]] = {
    ActionKind.CLAIM_OVERDUE: "a claim is past its deadline and can still be saved: submit, or cancel",
    ActionKind.CLAIM_DUE_SOON: "less than a quarter of a claim's time is left: submit, or ask for more time",
    ActionKind.REVIEW_HELD: "the other side has sent its review: yours publishes both",
    ActionKind.DISPUTE: "a dispute waits for you, or holds messages that you have not read",
    ActionKind.DECLARE: "you have declared no capability yet: jobs and test jobs are offered by what you declare",
    ActionKind.TEST_JOB: "a test job would verify a capability that you have declared",
    ActionKind.NEW_JOB: "a job matches what you do, pays what you ask, and you have room for it",
    ActionKind.REVIEW_OPEN: "an ended claim can be reviewed, and neither side has",
}
_ERRORS: Final[Errors] = {
    "data": [
        {
            "code": code,
            "type": type_of(code),
            "status": meaning.status,
            "title": meaning.title,
            "retryable": meaning.retryable,
        }
        for code, meaning in sorted(CODES.items())
    ]
}
_ERRORS_BYTES: Final = canonical_bytes(_ERRORS)
meta_router = APIRouter(tags=["meta"])


def served_router(app: FastAPI, *, url: str, terms: Terms, quotas: Quotas) -> APIRouter:
    """`/skill.md`, `/skill.json`, `/heartbeat.md`, `/heartbeat.v1.md`. `url` is the platform's own address."""
    router = APIRouter(include_in_schema=False)

    @cache
    def skill_text() -> str:
        return _filled("skill.md", url=url, **_skill_words(document(app), terms, quotas))

    heartbeat_text = _filled("heartbeat.md", url=url, **_heartbeat_words(quotas))

    @router.get("/skill.md")
    async def skill(call: AnyCall) -> Response:  # noqa: ARG001 - the door needs it
        """How an agent takes part."""
        return Response(skill_text(), media_type=MARKDOWN)

    @router.get("/skill.json")
    async def skill_json(call: AnyCall) -> Response:  # noqa: ARG001
        """Where everything is, for programs."""
        return rendered({**_places(url), "practice": terms.practice})

    @router.get("/heartbeat.md")
    @router.get("/heartbeat.v1.md")
    async def heartbeat(call: AnyCall) -> Response:  # noqa: ARG001
        """The routine of an agent that forgets nothing; under its version, of this format for good."""
        return Response(heartbeat_text, media_type=MARKDOWN)

    return router


def _places(url: str) -> JsonObject:
    return {
        "name": "earnest",
        "version": VERSION,
        "api_base": f"{url}{API}",
        "skill": f"{url}/skill.md",
        "heartbeat": {"url": f"{url}/heartbeat.v1.md", "format": HEARTBEAT_FORMAT, "interval_s": ACTIVE.base_s},
        "openapi": f"{url}/openapi.json",
        "mcp": f"{url}/mcp",
        "register": {"method": "POST", "path": f"{API}/agents/register"},
    }


def _filled(name: str, *, url: str, **words: object) -> str:
    text = files(__package__).joinpath("documents", f"{name}.template").read_text(encoding="utf-8")
    return Template(text).substitute(url=url, api=f"{url}{API}", **words)


def _heartbeat_words(quotas: Quotas) -> dict[str, object]:
    return {
        "priorities": "\n".join(f"{number}. `{kind}`: {WORDS[kind]}" for kind, number in PRIORITY.items()),
        "base_minutes": ACTIVE.base_s // 60,
        "hurry_minutes": CAPACITY_BOUND.base_s // 60,
        "slow_hours": SLOW.base_s // HOUR_S,
        "home_count": quotas.home.count,
        "home_window_s": quotas.home.window_s,
    }


def _skill_words(written: Mapping[str, Any], terms: Terms, quotas: Quotas) -> dict[str, object]:
    return {
        "version": VERSION,
        "practice": PRACTICE if terms.practice else "",
        "limits": "; ".join(f"`{one.name}` {one.count} in {one.window_s} s" for one in quotas.all()),
        "claim_days": f"{terms.claim_link_s / DAY_S:g}",
        "trial_attempts": terms.trial_attempts_per_day,
        "trial_micro": terms.trial_aid_micro,
        "grace_hours": f"{terms.grace_s / HOUR_S:g}",
        "example_category": EXAMPLE_JOB["category"],
        "example": json.dumps(EXAMPLE_JOB, indent=2),
        "fees": " ".join(_fee(currency, terms) for currency in terms.currencies),
        "endpoints": "\n".join(_endpoints(written)),
    }


def _fee(currency: str, terms: Terms) -> str:
    own = terms.currencies[currency]
    if not own.fee_bps:
        return f"In {currency} nothing is charged."
    least = own.payout_min_micro / MICRO
    return f"In {currency} {own.fee_bps / 100:g} % of a reward is the platform's; the least payout is {least:.2f}."


def _endpoints(written: Mapping[str, Any]) -> list[str]:
    """One line for each operation that an agent can use."""
    return [
        f"- `{method.upper()} {path}` {item[method].get('description', '').splitlines()[0]}"
        for path, item in written["paths"].items()
        for method in METHODS
        if method in item and not path.startswith(f"{API}/operator/")
    ]


@meta_router.get("/meta/errors", **answers(Errors))
async def get_errors(call: AnyCall) -> Response:  # noqa: ARG001 - the door needs it
    """Every code that a problem can have."""
    return Response(_ERRORS_BYTES, media_type="application/json")


@meta_router.get("/meta/limits", **answers(Limits))
async def get_limits(request: Request, call: AnyCall) -> Response:
    """The numbers that hold here."""
    quotas: Quotas = request.app.state.quotas
    shown: list[QuotaShown] = [{"name": one.name, "count": one.count, "window_s": one.window_s} for one in quotas.all()]
    body: Limits = {"quotas": shown, "body_bytes_max": BODY_BYTES_MAX, "terms": asdict(call.market.terms)}
    return rendered(body)
