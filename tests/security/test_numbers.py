"""Does every whole number that can be sent have its bounds, and is nothing taken beyond them?"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from surfaces.web.conftest import Site

from .operations import Operation, numbers, put

MARK = "the number"
STRANGE = (
    *("-1", "0", "9007199254740992", "9007199254740993", "1e308", "1e999", "NaN", "Infinity", "-Infinity", "1.5"),
    *("1e2", '"1"', "true", "[1]", "{}", "9" * 5_000, "-9007199254740993"),
)
"""As they stand in the body."""
STRANGE_TEXTS = ("-1", "9007199254740992", "1e308", "NaN", "inf", "1.5", "true", "", "9" * 5_000, "0x10", "1;--")
NOT_LOOKED_AT = {("POST /jobs/{job_id}/review", "penalty"), ("POST /root/jobs/{job_id}/review", "penalty")}
"""Taken as agents of old send it, and read by nobody."""


async def keys_of(site: Site) -> Mapping[str, str]:
    """An operator's and an agent's."""
    operator = await site.operator()
    return {"op": operator, "live": (await site.agent("maya_r", operator))["live"]}


def key_for(operation: Operation, keys: Mapping[str, str]) -> str:
    is_operators = operation.name.startswith("POST /operator") or operation.name.endswith("/votes")
    return keys["op" if is_operators else "live"]


def address(operation: Operation) -> str:
    return f"http://127.0.0.1:8420{operation.at()}"


def is_allowed(text: str, schema: Mapping[str, Any]) -> bool:
    """True for a whole number within the bounds."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return type(value) is int and schema["minimum"] <= value <= schema["maximum"]


@pytest.mark.slow
async def test_every_number_of_every_body_has_its_bounds_and_keeps_them(
    site: Site, operations: dict[str, Operation]
) -> None:
    keys, tried, wrong = await keys_of(site), 0, []
    for operation in operations.values():
        for way, schema in numbers(operation.body or {}, operation.components):
            place = "/".join(map(str, way))
            if (operation.name, place) in NOT_LOOKED_AT:
                continue
            if not {"minimum", "maximum"} <= set(schema):
                wrong.append(f"{operation.name} {place}: no bounds")
                continue
            beyond = (str(int(schema["minimum"]) - 1), str(int(schema["maximum"]) + 1))
            whole = put(operation.sample(), way, MARK, operation.body or {}, operation.components)
            for text in {text for text in (*STRANGE, *beyond) if not is_allowed(text, schema)}:
                tried += 1
                answer = await site.ask(
                    operation.method,
                    address(operation),
                    key=key_for(operation, keys),
                    content=json.dumps(whole).replace(f'"{MARK}"', text).encode(),
                    headers={"Content-Type": "application/json"},
                )
                told = answer.json()
                is_named = any(one["pointer"].startswith(f"#/{place}") for one in told.get("errors", ()))
                if told.get("code") != "malformed_json" and not (told.get("code") == "validation" and is_named):
                    wrong.append(f"{operation.name} {place} = {text[:30]}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 200


@pytest.mark.slow
async def test_every_number_of_every_query_has_its_bounds_and_keeps_them(
    site: Site, operations: dict[str, Operation]
) -> None:
    keys, tried, wrong = await keys_of(site), 0, []
    for operation in operations.values():
        for name, schema in operation.query.items():
            if schema.get("type") != "integer":
                continue
            assert {"minimum", "maximum"} <= set(schema), f"{operation.name} {name}"
            beyond = (str(int(schema["minimum"]) - 1), str(int(schema["maximum"]) + 1))
            for text in {*STRANGE_TEXTS, *beyond}:
                tried += 1
                key = keys["op" if operation.path.startswith("/api/v1/operator") else "live"]
                answer = await site.ask("GET", address(operation), key=key, params={name: text})
                if answer.status_code != 422 or answer.json()["code"] != "validation":
                    wrong.append(f"{operation.name} {name} = {text[:30]}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 100
