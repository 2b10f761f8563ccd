"""Answers where a route raises, or where there is none."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.text import plain_fault
from earnest.surfaces.web.calls import called

ERRORS_MAX: Final = 50
TEXT_MAX: Final = 300
RETRY_S: Final = 5
_OF_STATUS: Final = {
    400: ("malformed_json", "the body cannot be read as JSON"),
    404: ("not_found", "there is no such address"),
    405: ("method_not_allowed", "this address does not take this method"),
    413: ("too_large", "the body is too large"),
    415: ("unsupported_media", "a body is sent as application/json"),
}


def refuse_in_problems(app: FastAPI) -> None:
    """Have every refusal answered as a problem. What nobody foresaw is left to the door."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(Unavailable, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused | Unavailable)
    return called(request.scope).refused(maintenance(error) if isinstance(error, Unavailable) else error)


def maintenance(error: Unavailable) -> Refused:
    """What is answered where something outside has failed."""
    wait_s = RETRY_S if error.retry_after_ms is None else max(1, math.ceil(error.retry_after_ms / 1000))
    return Refused("maintenance", "something that this needs is not there now", retry_after_s=wait_s)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()[:ERRORS_MAX]
    call = called(request.scope)
    if any(one["type"] == "json_invalid" for one in found):
        return call.refused(Refused("malformed_json", "the body is not JSON"))
    errors = [_fault(one) for one in found]
    code = "unknown_field" if any(one["type"] == "extra_forbidden" for one in found) else "validation"
    told = next((one for one in errors if one["code"] == code), errors[0])  # the text says what the code says
    return call.problem(code, f"{told['pointer']}: {told['detail']}", {"errors": errors})


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    call = called(request.scope)
    if isinstance(error.__cause__, Refused):  # raised while FastAPI read the body
        return call.refused(error.__cause__)
    response = call.problem(*_OF_STATUS.get(error.status_code, ("internal_error", "this is a fault of ours")))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods(request))
    return response


def _methods(request: Request) -> list[str]:
    """What the address takes: the methods of all routes that have the path of the first one that fits."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    path = next((route.path for route in routes if route.path_regex.match(request.url.path)), "")
    return sorted({name for route in routes if route.path == path for name in route.methods or ()})


def _fault(error: Mapping[str, Any]) -> JsonObject:
    """One fault, without what was sent: that may be a secret."""
    code = "unknown_field" if error["type"] == "extra_forbidden" else str(error["type"])
    return {"pointer": _pointer(error["loc"]), "code": code, "detail": plain_fault(str(error["msg"]))[:TEXT_MAX]}


def _pointer(location: Iterable[str | int]) -> str:
    """A JSON Pointer into the body; `#/query/limit` and the like for what stands elsewhere."""
    parts = [str(part)[:TEXT_MAX].replace("~", "~0").replace("/", "~1") for part in location]
    return "#/" + "/".join(parts[1:] if parts[:1] == ["body"] else parts)
