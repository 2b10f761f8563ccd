"""One shape per answer: what routes document is what the client returns, and what the client sends is documented."""

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from fastapi.routing import APIRoute

from earnest.surfaces.web.calls import API
from earnest.surfaces.web.schema import document

from .conftest import Site
from .promises import promised, taken_back
from .test_client_endpoints import ELSEWHERE, asked_by, example, functions, plain

PROMISED = json.loads((Path(__file__).parent / "promised.json").read_text(encoding="utf-8"))
IGNORED = {"decide_job": {"penalty"}}
"""Members that are taken and not looked at: a client does not send them."""


def shapes(model: Any) -> set[Any]:
    """What a route may answer."""
    return set(get_args(model)) if type(model).__name__ in {"UnionType", "_UnionGenericAlias"} else {model}


def classes(shape: Any) -> Iterator[type]:
    """The classes that a shape is made of."""
    if parts := get_args(shape):
        yield from (found for part in parts for found in classes(part))
    if isinstance(origin := getattr(shape, "__origin__", shape), type):
        yield origin


def documented(site: Site) -> dict[tuple[str, str], Any]:
    """By method and plain path, the model of each route's answer."""
    return {
        (method, plain(route.path)): route.response_model
        for route in site.app.routes
        if isinstance(route, APIRoute) and route.include_in_schema and route.path.startswith(API)
        for method in route.methods or ()
    }


async def test_every_documented_answer_is_a_shape_of_the_clients(site: Site) -> None:
    models = documented(site)
    nameless = {path for (_, path), model in models.items() if model is None}
    assert nameless == {"/artifacts/{}", "/checkpoint"}  # bytes, and a signed note
    foreign = {one for model in models.values() for one in classes(model) if one not in {type(None), list}}
    assert {one.__module__.rpartition("_")[0] or one.__module__ for one in foreign} >= {"earnest.client.payloads"}
    assert [one for one in foreign if not one.__module__.startswith(("earnest.client.", "types"))] == []


async def test_every_method_of_the_client_returns_what_its_route_documents(site: Site) -> None:
    models = documented(site)
    wrong = []
    for name, function in functions():
        (returned,) = get_args(get_type_hints(function)["return"])
        if returned not in (bytes, str) and returned not in shapes(models[asked_by(function)]):
            wrong.append(f"{name} returns {returned}, its route {models[asked_by(function)]}")
    assert wrong == []
    assert len(models) > len(ELSEWHERE)


@pytest.mark.slow
async def test_what_the_client_sends_is_what_its_route_takes(site: Site) -> None:
    told = document(site.app)
    bodies = {
        (method.upper(), plain(path)): operation.get("requestBody", {}).get("content", {}).get("application/json")
        for path, item in told["paths"].items()
        for method, operation in item.items()
        if path.startswith(API)
    }
    wrong = []
    for name, function in functions():
        content, parameters = _sent(function), inspect.signature(function).parameters.values()
        body = bodies[asked_by(function)]
        taken = set() if body is None else set(_properties(told, body["schema"]))
        is_open = any(one.kind is one.VAR_KEYWORD for one in parameters)
        if content - taken or (taken - content - IGNORED.get(name, set()) and not is_open):
            wrong.append(f"{name} sends {sorted(content)}, its route takes {sorted(taken)}")
    assert wrong == []


@pytest.mark.slow
async def test_no_documented_promise_is_taken_back(site: Site) -> None:
    now = promised(document(site.app))
    assert [*taken_back(PROMISED, now)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "part", "change", "fault"),
    [
        ("GET /api/v1/jobs", "JobSummary", "answer", "GET /api/v1/jobs 200.data[].fee_micro is no longer sure"),
        ("POST /api/v1/jobs", "PostJob", "body", "POST /api/v1/jobs body.tips is required now"),
    ],
)
async def test_a_promise_that_is_taken_back_is_found(
    site: Site, operation: str, part: str, change: str, fault: str
) -> None:
    now = promised(document(site.app))
    schema = now["schemas"][part]
    if change == "answer":
        schema["required"].remove("fee_micro")
        del schema["properties"]["fee_micro"]
    else:
        schema["required"].append("tips")
    assert fault in {*taken_back(PROMISED, now)}
    assert f"{operation} is gone" in {*taken_back(PROMISED, {**now, "operations": {}})}


def _sent(function: Any) -> set[str]:
    """The members of the body, every parameter given."""
    given, named = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = example(parameter)
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            given.append(example(parameter))
    ask = function(*given, **named)
    is_json = ask.content and ask.headers.get("content-type") == "application/json"
    return set(json.loads(ask.content)) if is_json else set()


def _properties(told: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The members of a body."""
    for one in (schema, *schema.get("anyOf", ())):
        if "$ref" in one:
            found: dict[str, Any] = told["components"]["schemas"][one["$ref"].rpartition("/")[2]]
            return dict(found["properties"])
    pytest.fail(f"no form of ours: {schema}")
