"""What are a tool's arguments, and which request do they make? Read off the platform's own OpenAPI document."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from mcp_types import Tool, ToolAnnotations

from earnest.foundation.errors import Refused
from earnest.surfaces.mcp.table import Row
from earnest.surfaces.web.calls import KEY_HEADER
from earnest.surfaces.web.door import API

KEY_ARGUMENT: Final = "idempotency_key"
_COMPONENTS: Final = "#/components/schemas/"
_PLACES: Final = ("path", "query", "header")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """The REST request that a call of a tool is. `content` None: without a body."""

    method: str
    path: str
    query: Mapping[str, str | int | float | bool]
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One tool. `places`: where each argument that is no member of the body goes, and by what name."""

    row: Row
    tool: Tool
    places: Mapping[str, tuple[str, str]]
    has_body: bool

    def request(self, arguments: Mapping[str, Any]) -> HttpRequest:
        """The request with these arguments. Raises `Refused("validation")` where they make none.

        What they mean is left to the route, so that a tool refuses what REST refuses, in the same words.
        """
        placed: dict[str, dict[str, Any]] = {place: {} for place in _PLACES}
        body: dict[str, Any] = {}
        for name, value in arguments.items():
            place, wire_name = self.places.get(name, ("body", name))
            (body if place == "body" else placed[place])[wire_name] = value
        path = self.row.path
        for name in [wire for place, wire in self.places.values() if place == "path"]:
            path = path.replace(f"{{{name}}}", quote(_text(name, placed["path"].get(name)), safe=""))
        content = None
        if self.has_body or body:
            try:
                content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            except ValueError as error:
                raise Refused("validation", f"the arguments are no JSON: {error}") from None
        headers = {name: _text(name, value) for name, value in placed["header"].items()}
        if content is not None:
            headers["content-type"] = "application/json"
        query = {name: _scalar(name, value) for name, value in placed["query"].items()}
        return HttpRequest(method=self.row.method, path=f"{API}{path}", query=query, headers=headers, content=content)


def operation_of(row: Row, document: Mapping[str, Any]) -> Operation:
    """The tool of a row, by the document."""
    found = document["paths"][f"{API}{row.path}"][row.method.lower()]
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, tuple[str, str]] = {}
    for parameter in found.get("parameters", []):
        wire_name, place = parameter["name"], parameter["in"]
        is_key = wire_name.lower() == KEY_HEADER
        name = wire_name.lower().replace("-", "_") if place == "header" else wire_name
        places[name] = (place, wire_name)
        description = {"description": parameter["description"]} if "description" in parameter else {}
        properties[name] = {**parameter["schema"], **description}
        if parameter.get("required") and not is_key:
            required.append(name)
    body, schemas = _body(found), document["components"]["schemas"]
    for name, schema in body.get("properties", {}).items():
        assert name not in properties, f"{row.name}: {name} is a parameter and a member of the body"
        properties[name] = schema
    required += body.get("required", [])
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    tool = Tool(
        name=row.name,
        description=found.get("description") or found["summary"],
        input_schema=_self_contained(schema, schemas),
        annotations=ToolAnnotations(read_only_hint=row.method == "GET", open_world_hint=False),
    )
    return Operation(row=row, tool=tool, places=places, has_body="requestBody" in found)


def _body(operation: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the JSON body, resolved later; none for an operation without."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return dict(content.get("schema", {}))


def _self_contained(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The same with everything that it refers to in `$defs`."""
    defs: dict[str, Any] = {}

    def rewritten(value: Any) -> Any:
        if isinstance(value, list):
            return [rewritten(each) for each in value]
        if not isinstance(value, dict):
            return value
        found = {name: rewritten(each) for name, each in value.items()}
        if isinstance(reference := value.get("$ref"), str):
            name = reference.removeprefix(_COMPONENTS)
            found["$ref"] = f"#/$defs/{name}"
            if name not in defs:
                defs[name] = None
                defs[name] = rewritten(schemas[name])
        return found

    whole: dict[str, Any] = rewritten(schema)
    return {**whole, "$defs": defs} if defs else whole


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise Refused("validation", f"{name} is a text, and is needed")
    return value


def _scalar(name: str, value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise Refused("validation", f"{name} is one value")
    return value
