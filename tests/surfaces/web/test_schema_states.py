"""The platform against its OpenAPI document, along the document's links: what one answer names the next request takes.

Buyer, seller, operator, heartbeat and newcomer each ask what is theirs to ask, and now and then what is not.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.hooks import GLOBAL_HOOK_DISPATCHER

from earnest.effects.ground.clock import VirtualClock
from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.calls import API
from earnest.surfaces.web.schema import SOURCES, document

from .conftest import GENEROUS, HASHING, URL, Site
from .jobs import RIGHT, fund, job_body
from .test_schema import REFUSED_BY_RULES, failures, operations

SEED = 7
SCENARIOS = 60
STEPS_MAX = 14
SECONDS_MAX = 120
ROUNDS_MAX = 5
"""As many as a busy machine needs until everything was reached."""
STRAY = 0.1
KNOWN = 0.7
ROLES: tuple[tuple[str, str], ...] = (
    ("POST /operator/login", "nobody"),
    ("POST /operator/logout", "nobody"),
    ("POST /agents/register", "nobody"),
    ("POST /agents/me/rotate-key", "newcomer"),
    ("POST /agents/me/keys", "newcomer"),
    ("DELETE /agents/me/keys", "newcomer"),
    ("POST /agents/me/heartbeats", "heartbeat"),
    ("POST /operator", "operator"),
    ("GET /operator", "operator"),
    ("PUT /operator", "operator"),
    ("DELETE /operator", "operator"),
    ("POST /periods", "operator"),
    ("POST /jobs/{job_id}/claim", "seller"),
    ("POST /jobs/{job_id}/applications", "seller"),
    *((f"POST /claims/{{claim_id}}/{step}", "seller") for step in ("start", "evidence", "extend", "cancel", "refund")),
    ("POST /disputes/{dispute_id}/withdraw", "seller"),  # its opener would end it before a statement was made
    ("POST /payouts", "seller"),
    ("GET /payouts", "seller"),
    ("PUT /agents/me/capabilities", "seller"),
    ("POST /agents/me/trials", "seller"),
    ("POST /trials", "seller"),
    ("GET /trials", "seller"),
)
"""Who asks what; the first that an operation begins with, and else the buyer."""
SAID: dict[str, Any] = {"reason": "The sum is another.", "criteria": ["C1"]}
BODIES: dict[str, dict[str, Any]] = {
    "POST /jobs": job_body(),
    "POST /jobs/{job_id}/review": {"approved": True, "reason": "fine"},
    "POST /claims/{claim_id}/evidence": RIGHT,
    "POST /claims/{claim_id}/request-changes": SAID,
    "POST /claims/{claim_id}/decline": SAID,
    "POST /claims/{claim_id}/disputes": SAID,
}
"""What is sensible to say; most of what is drawn at random no rule lets through."""
REACHED = (
    "POST /jobs",
    "POST /jobs/{job_id}/claim",
    "POST /disputes/{dispute_id}/statements",
    "POST /operator/deposits/{deposit_id}/decision",
    "GET /artifacts/{sha256}",
)
"""What a run that follows the links does, if they lead where they say."""


class Company:
    """Those who ask, by name; each request gets the key of one, and an Idempotency-Key of its own."""

    def __init__(self, keys: dict[str, str]) -> None:
        self._keys = keys
        self._chance = random.Random(SEED)
        self._numbers = itertools.count()
        self.answered: Counter[tuple[str, int]] = Counter()

    def dress(self, _: object, case: Any, __: object) -> None:
        """Before a request."""
        label = _short(case.operation.label)
        role = next((who for begin, who in ROLES if label.startswith(begin)), "buyer")
        if self._chance.random() < STRAY:
            role = self._chance.choice(sorted(self._keys))
        case.headers = {**(case.headers or {}), "Idempotency-Key": f"state-{next(self._numbers)}"}
        case.headers.pop("Authorization", None)
        if self._keys[role]:
            case.headers["Authorization"] = f"Bearer {self._keys[role]}"
        if label in BODIES and self._chance.random() < KNOWN:
            case.body = BODIES[label]
            if label == "POST /jobs":
                case.body = job_body(acceptance=self._chance.choice((None, "machine", "buyer", "proposer")))

    def note(self, _: object, case: Any, response: Any) -> None:
        """After its answer."""
        label = _short(case.operation.label)
        self.answered[label, response.status_code] += 1
        if label == "POST /agents/register" and response.status_code == 201:
            self._keys["newcomer"] = response.json()["key"]


def _short(label: str) -> str:
    return label.replace(f" {API}", " ")


@pytest.fixture
def company(market: Market, clock: VirtualClock) -> Iterator[Company]:
    async def make() -> dict[str, str]:
        await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
        app = create_app(market, HASHING, url=URL, quotas=GENEROUS)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=URL) as client:
            site = Site(app=app, market=market, clock=clock, client=client)
            operator = await site.operator()
            buyer, seller = [await site.agent(handle, operator) for handle in ("buyer", "seller")]
            for one in (buyer, seller):
                await fund(site, operator, one["live"], 10_000_000_000)
            newcomer = await site.register("newcomer")
            for disputed in (True, False):  # work to judge, and a case
                job = await site.ask("POST", "/jobs", key=buyer["live"], json=job_body(acceptance="buyer"))
                job_id = job.json()["job_id"]
                claim = await site.ask("POST", f"/jobs/{job_id}/claim", key=seller["live"])
                path = f"/claims/{claim.json()['claim_id']}"
                await site.ask("POST", f"{path}/evidence", key=seller["live"], json=RIGHT)
                if disputed:
                    case = await site.ask("POST", f"{path}/disputes", key=buyer["live"], json=SAID)
                    assert case.status_code == 201, case.text
        return {
            "operator": operator,
            "buyer": buyer["live"],
            "seller": seller["live"],
            "heartbeat": seller["hb"],
            "newcomer": newcomer["key"],
            "nobody": "",
        }

    found = Company(asyncio.run(make()))
    hooks = {"before_call": found.dress, "after_call": found.note}
    for name, hook in hooks.items():
        GLOBAL_HOOK_DISPATCHER.register_hook_with_name(hook, name)
    yield found
    for hook in hooks.values():
        GLOBAL_HOOK_DISPATCHER.unregister(hook)


@pytest.mark.slow
def test_every_path_that_takes_an_id_is_linked_from_an_answer_that_has_it(site: Site) -> None:
    told = document(site.app)
    found = dict(operations(told))
    ids = {operation["operationId"]: operation for operation in found.values()}
    linked = {
        link["operationId"]
        for operation in ids.values()
        for answer in operation["responses"].values()
        for link in answer.get("links", {}).values()
    }
    taken = {name: [p["name"] for p in op.get("parameters", []) if p["in"] == "path"] for name, op in ids.items()}
    assert linked == {name for name, parameters in taken.items() if any(SOURCES[one] for one in parameters)}
    assert {source for sources in SOURCES.values() for source in sources} <= ids.keys()


def config_of(seed: int) -> SchemathesisConfig:
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "max-time": SECONDS_MAX,
            "generation": {"mode": "positive", "max-examples": SCENARIOS, "database": "none"},
            "phases": {
                **{phase: {"enabled": False} for phase in ("examples", "coverage", "fuzzing")},
                "stateful": {"max-steps": STEPS_MAX, "inference": {"algorithms": []}},
            },
            "checks": {
                "positive_data_acceptance": {"expected-statuses": ["2xx", *REFUSED_BY_RULES]},
                # Each request has the key of its role: not the one that was drawn, nor always that of who made a thing.
                **{check: {"enabled": False} for check in ("ignored_auth", "ensure_resource_availability")},
            },
        }
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_follows_from_an_answer_is_answered_as_documented(market: Market, company: Company) -> None:
    app = create_app(market, HASHING, url=URL, quotas=GENEROUS)
    missing = [*REACHED]
    for seed in range(SEED, SEED + ROUNDS_MAX):
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config_of(seed))
        found = {failure for event in from_schema(schema).execute() for failure in failures(event)}
        assert not found, "\n".join(sorted(found))
        missing = [label for label in REACHED if not any(company.answered[label, status] for status in (200, 201))]
        if not missing:
            break
    assert missing == []
