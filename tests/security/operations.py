"""What does the OpenAPI document let a test ask? Every operation, with a request that has the right form."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from earnest.surfaces.web.calls import API
from earnest.surfaces.web.problems import codes_of
from earnest.surfaces.web.schema import METHODS, document

ULID = "01J8XK3QZ0ABCDEFGHJKMNPQRS"
NOBODYS = {
    "account_id": f"act_{ULID}",
    "capability_id": f"cap_{ULID}",
    "claim_id": f"clm_{ULID}",
    "date": "2026-06-01",
    "deposit_id": f"dep_{ULID}",
    "dispute_id": f"dsp_{ULID}",
    "handle": "nobody",
    "heartbeat_id": f"hbt_{ULID}",
    "job_id": f"job_{ULID}",
    "key_id": f"key_{ULID}",
    "payout_id": f"pay_{ULID}",
    "period": f"per_{ULID}",
    "question_id": f"rvw_{ULID}",
    "review_id": f"rev_{ULID}",
    "run_id": f"run_{ULID}",
    "session_id": "0" * 64,
    "sha256": "sha256:" + "0" * 64,
    "thread_id": f"pst_{ULID}",
    "trial_id": f"job_test_{ULID}",
}
"""What is of the form of an id, and names nothing, by the name of the path's parameter."""
_TEXTS = (
    *("", "x", "text", "USD", "data-analysis", f"cap_{ULID}", "sha256:" + "0" * 64, "text/plain", "09:00", "17:00"),
    *(f"hbt_{ULID}", "2026-06-01T00:00:00Z", "maya_r", "0" * 43, "m@example.org"),
)
"""One of these fits every pattern of ours."""


@dataclass(frozen=True)
class Operation:
    """One operation. `body` is the schema of its JSON, None where it takes none."""

    name: str
    method: str
    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None
    codes: Mapping[int, tuple[str, ...]]
    components: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        """Of the parameters in its path."""
        return re.findall(r"\{(\w+)\}", self.path)

    def at(self, ids: Mapping[str, str] = NOBODYS) -> str:
        """Its path with these ids."""
        return re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], self.path)

    def sample(self) -> Any:
        """A body of the right form; None where none is taken."""
        return None if self.body is None else sample(self.body, self.components)


def operations_of(app: FastAPI) -> dict[str, Operation]:
    """Every operation of the document."""
    told = document(app)
    found = {}
    for path, item in told["paths"].items():
        for method in METHODS:
            if method in item:
                operation = _operation(method.upper(), path, item[method], told["components"]["schemas"])
                found[operation.name] = operation
    return found


def _operation(method: str, path: str, told: Mapping[str, Any], components: Mapping[str, Any]) -> Operation:
    content = told.get("requestBody", {}).get("content", {})
    return Operation(
        name=f"{method} {path.removeprefix(API)}" if path.startswith(API) else f"{method} /root{path}",
        method=method,
        path=path,
        query={each["name"]: each["schema"] for each in told.get("parameters", []) if each["in"] == "query"},
        body=content.get("application/json", {}).get("schema"),
        codes={int(status): tuple(codes_of(response)) for status, response in told["responses"].items()},
        components=components,
    )


def resolved(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself: of a reference what it names, of a choice the first that is not null."""
    while True:
        if "$ref" in schema:
            schema = components[schema["$ref"].rpartition("/")[2]]
        elif "anyOf" in schema:
            schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
        else:
            return schema


def sample(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    """The least value of a schema's form."""
    schema = resolved(schema, components)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            members = schema.get("properties", {})
            return {name: sample(members[name], components) for name in schema.get("required", ())}
        case "array":
            return [sample(schema["items"], components) for _ in range(schema.get("minItems", 0))]
        case "string":
            return next(text for text in _TEXTS if _fits(text, schema))
        case "integer":
            return int(schema.get("minimum", 0))
        case "boolean":
            return False
        case _:
            return {}


def numbers(
    schema: Mapping[str, Any], components: Mapping[str, Any], at: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Every integer in a schema: the way to it, and its own schema."""
    schema = resolved(schema, components)
    if schema.get("type") == "integer":
        yield at, schema
    for name, member in schema.get("properties", {}).items():
        yield from numbers(member, components, (*at, name))
    if "items" in schema:
        yield from numbers(schema["items"], components, (*at, 0))


def put(
    body: Any, at: tuple[str | int, ...], value: Any, schema: Mapping[str, Any], components: Mapping[str, Any]
) -> Any:
    """The body with `value` at the end of this way; what is missing on it is made of the right form."""
    if not at:
        return value
    schema, step = resolved(schema, components), at[0]
    if isinstance(step, int):
        inner = body[step] if isinstance(body, list) and len(body) > step else sample(schema["items"], components)
        return [put(inner, at[1:], value, schema["items"], components)]
    member = schema["properties"][step]
    inner = body[step] if step in body else sample(member, components)
    return {**body, step: put(inner, at[1:], value, member, components)}


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    lengths = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
    return lengths and re.search(schema.get("pattern", ""), text) is not None
