"""Does the platform do what its OpenAPI document says, and say what it does?"""

import asyncio
import inspect
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
import yaml
from fastapi.routing import APIRoute
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import EngineEvent, FatalError, NonFatalError, ScenarioFinished

from earnest.effects.ground.clock import VirtualClock
from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.calls import API, KEY_OPTIONAL
from earnest.surfaces.web.problems import STATUS
from earnest.surfaces.web.schema import METHODS, document

from .conftest import GENEROUS, HASHING, NOTARY, URL, Site

EXAMPLES = 15
REFUSED_BY_RULES = ["400", "401", "403", "404", "409", "410", "412", "422"]
"""What a request of the documented form may be refused with: cursors, keys, parties, states, rules."""
REFUSED_AT_THE_DOOR = ["405", "413", "415", "428", "429"]
"""What else one of another form may be refused with: a text that is too long may make its body too large."""


@pytest.fixture
def told(site: Site) -> dict[str, Any]:
    """The document."""
    return document(site.app)


def operations(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in told["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method.upper()} {path}", item[method]


@pytest.mark.slow
async def test_the_document_is_there_in_two_forms_and_two_places(site: Site, told: dict[str, Any]) -> None:
    texts = [(await site.client.get(f"{prefix}/openapi.yaml")).text for prefix in ("", API)]
    assert [(await site.client.get(f"{prefix}/openapi.json")).json() for prefix in ("", API)] == [told, told]
    assert texts[0] == texts[1]
    assert yaml.load(texts[0], yaml.CSafeLoader) == told


@pytest.mark.slow
def test_every_operation_has_a_name_and_a_meaning_of_its_own(told: dict[str, Any]) -> None:
    found = dict(operations(told))
    assert len(found) > 20
    names = [operation["operationId"] for operation in found.values()]
    assert len(set(names)) == len(names)
    assert not [name for name, operation in found.items() if not operation.get("description")]


@pytest.mark.slow
def test_every_answer_has_a_form(told: dict[str, Any]) -> None:
    formless = [
        f"{name} {status}"
        for name, operation in operations(told)
        for status, response in operation["responses"].items()
        if status != "304" and not all(content.get("schema") for content in response.get("content", {"": {}}).values())
    ]
    assert formless == []


@pytest.mark.slow
def test_every_code_in_the_document_is_in_the_list(told: dict[str, Any]) -> None:
    codes = set(re.findall(r"'enum': \[([^\]]*)\]", str(told["paths"])))
    assert all(code.strip("' ") in STATUS for group in codes for code in group.split(",") if "_" in code)


def test_a_route_that_needs_no_idempotency_key_is_documented_so(site: Site) -> None:
    routes = [route for route in site.app.routes if isinstance(route, APIRoute) and route.include_in_schema]
    assert {route.path.removeprefix(API) for route in routes} >= KEY_OPTIONAL
    lenient = {route.path.removeprefix(API) for route in routes if "optional=True" in inspect.getsource(route.endpoint)}
    assert lenient <= KEY_OPTIONAL


@pytest.fixture
def keys(market: Market, clock: VirtualClock) -> dict[str, str]:
    """A key of each scope, made as anybody makes them, and none."""

    async def make() -> dict[str, str]:
        await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
        app = create_app(market, HASHING, url=URL, quotas=GENEROUS, notary=NOTARY)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=URL) as client:
            site = Site(app=app, market=market, clock=clock, client=client)
            operator = await site.operator()
            agent = await site.agent("maya_r", operator)
            return {"op": operator, "live": agent["live"], "hb": agent["hb"], "nobody": ""}

    return asyncio.run(make())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("whose", ["live", "op", "hb", "nobody"])
def test_whatever_is_asked_is_answered_as_documented(market: Market, keys: dict[str, str], whose: str) -> None:
    app = create_app(market, HASHING, url=URL, quotas=GENEROUS, notary=NOTARY)
    config = SchemathesisConfig.from_dict(
        {
            "seed": 7,
            "headers": {"Authorization": f"Bearer {keys[whose]}"} if keys[whose] else {},
            "generation": {"max-examples": EXAMPLES, "database": "none"},
            "checks": {
                "positive_data_acceptance": {"expected-statuses": ["2xx", *REFUSED_BY_RULES]},
                "negative_data_rejection": {"expected-statuses": [*REFUSED_BY_RULES, *REFUSED_AT_THE_DOOR]},
            },
        }
    )
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config)
    found = {failure for event in from_schema(schema).execute() for failure in failures(event)}
    assert not found, "\n".join(sorted(found))


def failures(event: EngineEvent) -> Iterator[str]:
    """What an event of the engine says is wrong, in a line each."""
    match event:
        case NonFatalError():
            yield f"{event.label}: {event.value!r}"[:500]
        case FatalError():
            yield repr(event.exception)[:500]
        case ScenarioFinished(recorder=recorder):
            for nodes in recorder.checks.values():
                for node in nodes:
                    if node.failure_info is not None:
                        yield f"{recorder.label}: {node.name}: {node.failure_info.failure.message[:500]}"
