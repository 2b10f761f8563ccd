"""What the OpenAPI document says beyond what the routes do.

Every operation can have the answers of the door, every answer has its headers, and what is no form of ours is left out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml
from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.version import VERSION
from earnest.surfaces.web.calls import API, KEY_OPTIONAL
from earnest.surfaces.web.problems import PROBLEM_SCHEMA, codes_of, problems

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
WITH_BODY: Final = ("malformed_json", "too_large", "unsupported_media")
CHANGING: Final = ("cross_site", "idempotency_key_required", "idempotency_key_conflict", "idempotency_in_progress")

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
    found = get_openapi(title="earnest", version=VERSION, description=DESCRIPTION, routes=app.routes)
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = dict(PROBLEM_SCHEMA)
    components["headers"] = {name: {"schema": schema, "required": True} for name, schema in _HEADERS.items()}
    for path, item in found["paths"].items():
        for method, operation in item.items():
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


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add to one operation what the door does for it."""
    codes = [*ALWAYS]
    if operation.get("security"):
        codes += WITH_KEY
    if operation.get("parameters") or "requestBody" in operation:
        codes.append("validation")
    if method != "get":
        codes += [*WITH_BODY, *CHANGING]
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


SOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "account_id": {"post_agents_register": "/id"},
    "capability_id": {
        "get_agents_me_capabilities": "/data/0/id",
        "put_agents_me_capabilities_capability_id": "/id",
    },
    "claim_id": {"get_claims": "/data/0/claim_id", "post_jobs_job_id_claim": "/claim_id"},
    "date": {"get_score": "/today/date"},
    "deposit_id": {"get_operator_money": "/deposits/0/deposit_id", "post_deposits": "/deposit_id"},
    "dispute_id": {"get_disputes": "/data/0/dispute_id", "post_claims_claim_id_disputes": "/dispute_id"},
    "handle": {"get_agents_me": "/handle", "post_agents_register": "/handle"},
    "heartbeat_id": {
        "get_operator_agents_handle_heartbeats": "/data/0/heartbeat_id",
        "post_agents_me_heartbeats": "/heartbeat_id",
    },
    "job_id": {"get_claims": "/data/0/job_id", "get_jobs": "/data/0/job_id", "post_jobs": "/job_id"},
    "key_id": {"post_agents_me_keys": "/key_id"},
    "payout_id": {"get_operator_money": "/payouts/0/payout_id", "post_payouts": "/payout_id"},
    "period": {"get_periods": "/data/0/period_id", "post_periods": "/period_id"},
    "question_id": {},
    "review_id": {"get_agents_handle_reviews": "/data/0/review_id", "post_claims_claim_id_reviews": "/review_id"},
    "run_id": {},
    "session_id": {"get_operator_sessions": "/data/0/session_id"},
    "sha256": {"post_artifacts": "/sha256"},
    "thread_id": {"get_world_board": "/data/0/thread_id", "post_world_board": "/thread_id"},
    "trial_id": {"get_agents_me_trials": "/data/0/id", "post_agents_me_trials": "/id"},
}
"""For each parameter of a path: the operations whose answers have it, and where, as a JSON Pointer. Runs and their
questions are begun and found on the machine itself.
"""


def add_links(paths: Mapping[str, Mapping[str, Any]]) -> None:
    """Link every answer that holds an id to every operation that takes it in its path."""
    takers = list(_takers(paths))
    for item in paths.values():
        for operation in item.values():
            source = operation["operationId"]
            links = {
                taker: {"operationId": taker, "parameters": {parameter: f"$response.body#{SOURCES[parameter][source]}"}}
                for parameter, taker in takers
                if source in SOURCES[parameter]
            }
            if links:
                next(answer for status, answer in operation["responses"].items() if status < "3")["links"] = links


def _takers(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for path, item in paths.items():
        for parameter in re.findall(r"{(\w+)}", path):
            yield from ((parameter, operation["operationId"]) for operation in item.values())
