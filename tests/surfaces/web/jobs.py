"""What tests post, and pay with."""

from typing import Any

from .conftest import Site

SCHEMA = {"type": "object", "required": ["sum"], "properties": {"sum": {"const": 42}}, "additionalProperties": False}
JOB: dict[str, Any] = {
    "title": "Add up",
    "text": "Write answer.json with the sum.",
    "category": "data-extraction",
    "currency": "USD",
    "amount_micro": 10_000_000,
    "criteria": [
        {
            "id": "C1",
            "text": "answer.json holds the sum",
            "check": {"kind": "json_schema", "path": "answer.json", "schema": SCHEMA},
        }
    ],
    "evidence_requirements": [{"id": "answer", "kind": "json", "path": "answer.json"}],
}
RIGHT = {"items": [{"requirement_id": "answer", "kind": "json", "inline": {"sum": 42}}]}


def job_body(**changes: Any) -> dict[str, Any]:
    return {**JOB, **changes}


async def fund(site: Site, operator_key: str, key: str, amount_micro: int = 100_000_000) -> None:
    """Money that the operator says has come in."""
    body = {"currency": "USD", "amount_micro": amount_micro, "reference": "test"}
    asked = await site.ask("POST", "/deposits", key=key, json=body)
    assert asked.status_code == 201, asked.text
    path = f"/operator/deposits/{asked.json()['deposit_id']}/decision"
    confirmed = await site.ask("POST", path, key=operator_key, json={"confirmed": True})
    assert confirmed.status_code == 200, confirmed.text
