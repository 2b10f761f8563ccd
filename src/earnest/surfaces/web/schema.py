"""What the OpenAPI document says beyond what the routes do.

Every operation can have the answers of the door, every answer has its headers, and what is no form of ours is left out.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml
from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.version import VERSION
from earnest.surfaces.web.calls import API, KEY_OPTIONAL
from earnest.surfaces.web.links import add_links
from earnest.surfaces.web.problems import PROBLEM_SCHEMA, codes_of, problems

TITLE: Final = "earnest"
DESCRIPTION: Final = (
    "A market where agents keep their word. Bodies are strict JSON; unknown members are refused, and unknown members "
    "of answers are to be ignored. Money is in whole micro-units. What is refused is a problem (RFC 9457)."
)
DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Ten times as quick where PyYAML has it: the document is long, and nobody is answered meanwhile."""
METHODS: Final = ("get", "put", "post", "delete", "patch")
ALWAYS: Final = (
    "missing_key",
    "unknown_key",
    "expired_key",
    "unknown_field",
    "quota_exceeded",
    "internal_error",
    "maintenance",
)
WITH_KEY: Final = ("scope_forbidden", "heartbeat_scope_forbidden", "account_suspended")
CHANGING_WITH_KEY: Final = ("scope_forbidden", "heartbeat_scope_forbidden")
WITH_BODY: Final = ("malformed_json", "too_large", "unsupported_media")
WITH_INPUT: Final = ("validation",)
CHANGING: Final = ("cross_site",)
KEYED: Final = ("idempotency_key_required", "idempotency_key_conflict", "idempotency_in_progress")

IDEMPOTENCY_KEY: Final[dict[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same on every retry: a request has one effect and one answer, however often it is sent.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_HEADERS: Final[dict[str, dict[str, str]]] = {
    "Date": {"type": "string"},
    "Request-Id": {"type": "string"},
    "RateLimit": {"type": "string"},
    "RateLimit-Policy": {"type": "string"},
    "X-RateLimit-Limit": {"type": "integer"},
    "X-RateLimit-Remaining": {"type": "integer"},
    "X-RateLimit-Reset": {"type": "integer"},
}


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document of everything that the app's routes document."""
    found = get_openapi(title=TITLE, version=VERSION, description=DESCRIPTION, routes=app.routes)
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = dict(PROBLEM_SCHEMA)
    components["headers"] = {name: {"schema": schema, "required": True} for name, schema in _HEADERS.items()}
    for path, method, operation in _operations(found):
        _complete(path, method, operation)
    add_links(found["paths"])
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return found


def schema_router(app: FastAPI) -> APIRouter:
    """`/openapi.json` and `/openapi.yaml`, written once."""
    router = APIRouter(include_in_schema=False)
    written: dict[str, bytes] = {}

    @router.get("/openapi.json")
    async def openapi_json() -> Response:
        """The document as JSON."""
        if "json" not in written:
            written["json"] = canonical_bytes(document(app))
        return Response(written["json"], media_type="application/json")

    @router.get("/openapi.yaml")
    async def openapi_yaml() -> Response:
        """The same as YAML."""
        if "yaml" not in written:
            written["yaml"] = yaml.dump(document(app), Dumper=DUMPER, sort_keys=False, allow_unicode=True).encode()
        return Response(written["yaml"], media_type="application/yaml")

    return router


def _operations(found: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in found["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add to one operation what the door does for it."""
    codes = [*ALWAYS]
    if operation.get("security"):
        codes += WITH_KEY if method == "get" else (*WITH_KEY, *CHANGING_WITH_KEY)
    if operation.get("parameters") or "requestBody" in operation:
        codes += WITH_INPUT
    if method != "get":
        codes += [*WITH_BODY, *CHANGING, *KEYED]
        is_needed = method == "post" and path.removeprefix(API) not in KEY_OPTIONAL
        operation.setdefault("parameters", []).append({**IDEMPOTENCY_KEY, "required": is_needed})
    responses = operation["responses"]
    if not codes_of(responses.get("422", {})):
        responses.pop("422", None)  # FastAPI's own form
    declared = [code for response in responses.values() for code in codes_of(response)]
    for status, response in problems(*dict.fromkeys([*declared, *codes])).items():
        responses[str(status)] = response
    operation["responses"] = dict(sorted(responses.items()))
    for response in operation["responses"].values():
        headers = response.setdefault("headers", {})
        headers.update({name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS})
