"""A tool: its arguments and the request that they make, read off the OpenAPI document; and what the route answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx2
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

from earnest.effects.ground.clock import Chance, Clock
from earnest.foundation.errors import Refused
from earnest.surfaces.mcp.table import ToolRow
from earnest.surfaces.web.calls import API, KEY_HEADER
from earnest.surfaces.web.problems import problem

_COMPONENTS: Final = "#/components/schemas/"


class ParameterPlace(NamedTuple):
    """Where an argument goes: path, query, header or body; and by what name, a header's in lower case."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """The REST request that a call of a tool is. `content` None: without a body."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One tool. `path` is the whole template; `others`: where an argument goes that is none of `places`."""

    tool: Tool
    method: str
    path: str
    places: Mapping[str, ParameterPlace]
    others: str
    has_body: bool

    def request(self, arguments: Mapping[str, Any]) -> HttpRequest:
        """The request with these arguments. Raises `Refused`, `validation` or `not_found`, where they make none.

        What they mean is left to the route, so that a tool refuses what REST refuses, in the same words.
        """
        placed: dict[str, dict[str, Any]] = {kind: {} for kind in ("path", "query", "header", "body")}
        for argument, value in arguments.items():
            kind, name = self.places.get(argument, ParameterPlace(self.others, argument))
            if value is not None or kind == "body":
                placed[kind][name] = value
        path = self.path
        for kind, name in self.places.values():
            if kind == "path":
                path = path.replace(f"{{{name}}}", _id(name, placed["path"].get(name)))
        headers = {name: _text(name, value) for name, value in placed["header"].items()}
        content = None
        if self.has_body or placed["body"]:
            content = _json(placed["body"]).encode()
            headers["content-type"] = "application/json"
        query = {name: value if isinstance(value, str) else _json(value) for name, value in placed["query"].items()}
        return HttpRequest(method=self.method, path=path, query=query, headers=headers, content=content)


class Asker(NamedTuple):
    """Whoever sent a message: every header `Authorization` of it, and the address that it came from."""

    authorizations: tuple[str, ...] = ()
    address: str = ""

    @classmethod
    def of(cls, request: HTTPConnection) -> "Asker":
        """As the request says."""
        return cls(tuple(request.headers.getlist("authorization")), request.client.host if request.client else "")


class Rest:
    """The REST routes, asked in process in the name of whoever showed the key, and as if from their address."""

    def __init__(self, app: ASGIApp, url: str, clock: Clock, chance: Chance) -> None:
        self._app = app
        self._url = url
        self._clock = clock
        self._chance = chance

    async def ask(self, request: HttpRequest, asker: Asker) -> httpx2.Response:
        """What the route answers."""
        headers = [*request.headers.items(), *(("authorization", text) for text in asker.authorizations)]
        transport = httpx2.ASGITransport(app=self._app, raise_app_exceptions=False, client=(asker.address, 0))
        async with httpx2.AsyncClient(transport=transport, base_url=self._url, trust_env=False) as http:
            return await http.request(
                request.method, request.path, params=request.query or None, headers=headers, content=request.content
            )

    async def call(self, operation: Operation, arguments: Mapping[str, Any], asker: Asker) -> CallToolResult:
        """The answer of the operation's route; a problem is an error of the tool, with the same JSON.

        Without an `idempotency_key` the call has one of its own: it is done once, and a second call is another.
        """
        try:
            request = operation.request(arguments)
            if request.method != "GET" and KEY_HEADER not in request.headers:
                request = replace(request, headers={**request.headers, KEY_HEADER: self.new_id()})
            answer = await self.ask(request, asker)
        except (Refused, httpx2.InvalidURL) as error:
            code = error.code if isinstance(error, Refused) else "validation"
            said = problem(code, str(error), f"req_{self.new_id()}", operation.path)
            return _result(said.status_code, bytes(said.body))
        return _result(answer.status_code, answer.content)

    def new_id(self) -> str:
        """A new ULID."""
        return self._chance.new_id(self._clock.now_ms())


def _result(status: int, content: bytes) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=content.decode())],
        structured_content=json.loads(content),
        is_error=status >= 400,
    )


def operation_of(row: ToolRow, document: Mapping[str, Any]) -> Operation:
    """The tool of a row, by the document."""
    found = document["paths"][f"{API}{row.path}"][row.method.lower()]
    schemas = document["components"]["schemas"]
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, ParameterPlace] = {}

    def add(argument: str, place: ParameterPlace, schema: Mapping[str, Any], *, is_required: bool) -> None:
        assert argument not in places, f"{row.name}: {argument} is two things"
        places[argument] = place
        properties[argument] = schema
        if is_required:
            required.append(argument)

    for parameter in found.get("parameters", []):
        kind, name = parameter["in"], parameter["name"].lower() if parameter["in"] == "header" else parameter["name"]
        told = {"description": parameter["description"]} if "description" in parameter else {}
        is_required = parameter.get("required", False) and name != KEY_HEADER
        add(
            name.replace("-", "_"), ParameterPlace(kind, name), {**parameter["schema"], **told}, is_required=is_required
        )
    body = _body(found, schemas)
    for member, schema in body.get("properties", {}).items():
        add(member, ParameterPlace("body", member), schema, is_required=member in body.get("required", []))
    tool = Tool(
        name=row.name,
        description=found.get("description") or found["summary"],
        input_schema=_self_contained(_object(properties, required), schemas),
        annotations=ToolAnnotations(read_only_hint=row.method == "GET", open_world_hint=False),
    )
    return Operation(
        tool=tool,
        method=row.method,
        path=f"{API}{row.path}",
        places=places,
        others="query" if row.method == "GET" else "body",
        has_body="requestBody" in found,
    )


def _object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _body(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the JSON body, an object; an empty one for an operation without."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema: Mapping[str, Any] = content.get("schema", {})
    return schemas[schema["$ref"].removeprefix(_COMPONENTS)] if "$ref" in schema else schema


def _self_contained(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The same with everything that it refers to in `$defs`, and without the titles that pydantic makes of names."""
    defs: dict[str, Any] = {}

    def rewritten(value: Any) -> Any:
        if isinstance(value, list):
            return [rewritten(each) for each in value]
        if not isinstance(value, dict):
            return value
        is_named = isinstance(value.get("title"), str)
        found = {name: rewritten(each) for name, each in value.items() if not (is_named and name == "title")}
        if isinstance(reference := value.get("$ref"), str):
            name = reference.removeprefix(_COMPONENTS)
            found["$ref"] = f"#/$defs/{name}"
            if name not in defs:
                defs[name] = None
                defs[name] = rewritten(schemas[name])
        return found

    whole: dict[str, Any] = rewritten(schema)
    return {**whole, "$defs": defs} if defs else whole


def _id(name: str, value: object) -> str:
    """One segment of a path, which a server that decodes it reads as one segment too."""
    text = _text(name, value)
    if "/" in text or text in {".", ".."}:
        raise Refused("not_found", f"there is nothing with the {name} {text[:80]!r}")
    return quote(text, safe="")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or not value.isascii() or not value:
        raise Refused("validation", f"{name} is needed: a text of printable ASCII")
    return value


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise Refused("validation", f"the arguments are no JSON: {error}") from None
