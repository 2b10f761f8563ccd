"""What does the platform say of itself: its errors, its limits, its terms?"""

from dataclasses import asdict
from typing import Any, Final, cast

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from earnest.foundation.canonical import JsonObject, canonical_bytes
from earnest.surfaces.web.calls import AnyCall, rendered
from earnest.surfaces.web.door import BODY_BYTES_MAX
from earnest.surfaces.web.limits import Quotas
from earnest.surfaces.web.problems import CODES, type_of


class ErrorMeaning(BaseModel):
    """One code."""

    code: str
    type: str
    status: int
    title: str
    retryable: bool


class Errors(BaseModel):
    """The closed list of codes."""

    data: list[ErrorMeaning]


class QuotaShown(BaseModel):
    """At most `count` requests in any `window_s` seconds."""

    name: str
    count: int
    window_s: int


class LimitsShown(BaseModel):
    """How much somebody may ask, and by what numbers the market goes."""

    quotas: list[QuotaShown]
    body_bytes_max: int
    terms: dict[str, Any]


_ERRORS: Final = canonical_bytes(
    {
        "data": [
            {
                "code": code,
                "type": type_of(code),
                "status": meaning.status,
                "title": meaning.title,
                "retryable": meaning.retryable,
            }
            for code, meaning in sorted(CODES.items())
        ]
    }
)


def meta_router(quotas: Quotas) -> APIRouter:
    """`/meta/errors` and `/meta/limits`."""
    router = APIRouter(tags=["meta"])

    @router.get("/meta/errors", response_model=Errors)
    async def get_errors(call: AnyCall) -> Response:  # noqa: ARG001 - the door needs it
        """Every code that a problem can have."""
        return Response(_ERRORS, media_type="application/json")

    @router.get("/meta/limits", response_model=LimitsShown)
    async def get_limits(call: AnyCall) -> Response:
        """The numbers that hold here."""
        shown = [asdict(quota) for quota in (quotas.home, quotas.read, quotas.write, quotas.register)]
        body = {"quotas": shown, "body_bytes_max": BODY_BYTES_MAX, "terms": asdict(call.market.terms)}
        return rendered(cast("JsonObject", body))

    return router
