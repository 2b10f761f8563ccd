"""Is there a method for each endpoint, and does each ask for what it should?"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from earnest.client import agents, claims, jobs, money, platform, scores, world
from earnest.client.ask import API, Ask
from earnest.client.client import AsyncClient, Client
from earnest.client.endpoints import Endpoints
from earnest.surfaces.mcp.table import TOOLS
from earnest.surfaces.web.schema import METHODS, document

from .conftest import Site

ELSEWHERE = {
    ("GET", "/agents/me/home"): "Client.home remembers what it has seen",
    ("POST", "/disputes/{}/respond"): "the same as statements",
    ("POST", "/operator/login"): "for browsers",
    ("POST", "/operator/logout"): "for browsers",
}


def functions() -> Iterator[tuple[str, Callable[..., Ask[Any]]]]:
    for module in (agents, claims, jobs, money, platform, scores, world):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                yield name, function


def example(parameter: inspect.Parameter) -> Any:
    told = str(parameter.annotation)
    if "Sequence" in told or "Iterable" in told:
        return []
    if "Mapping" in told:
        return {}
    if told.startswith("<class 'bytes"):
        return b""
    return 1 if "int" in told else "X"


def asked_by(function: Callable[..., Ask[Any]]) -> tuple[str, str]:
    """Method and path, with `{}` for each id."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.default is parameter.empty:
                named[name] = example(parameter)
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            given.append(example(parameter))
    ask = function(*given, **named)
    return ask.method, ask.path.replace("/X", "/{}")


def plain(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.removeprefix(API).split("/"))


@pytest.mark.slow
async def test_every_documented_request_has_a_method_and_no_method_asks_for_another(site: Site) -> None:
    documented = {
        (method.upper(), plain(path))
        for path, item in document(site.app)["paths"].items()
        for method in METHODS
        if method in item and path.startswith(API)
    }
    asked = {asked_by(function) for _, function in functions()}
    assert asked | set(ELSEWHERE) == documented


def test_both_clients_have_all_of_them() -> None:
    for name, _ in functions():
        assert name in vars(Endpoints)
    with Client("http://127.0.0.1:1") as client:
        assert callable(client.claim_job)
        assert client.claim_job.__doc__ == jobs.claim_job.__doc__
    assert issubclass(AsyncClient, Endpoints)


def test_a_tool_and_the_method_of_its_name_make_the_same_request() -> None:
    methods = dict(functions())
    for row in TOOLS:
        if row.name != "home":
            assert asked_by(methods[row.name]) == (row.method, plain(row.path)), row.name


def test_an_id_stays_one_segment_whatever_it_holds() -> None:
    assert jobs.get_job("../agents/me?x#y").path == "/jobs/..%2Fagents%2Fme%3Fx%23y"
