"""What the platform says of itself over HTTP: its errors, its limits, its terms."""

from dataclasses import asdict
from typing import Final

from fastapi import APIRouter, Request, Response

from earnest.client.payloads_platform import Errors, Limits
from earnest.client.payloads_platform import Quota as QuotaShown
from earnest.foundation.canonical import canonical_bytes
from earnest.surfaces.web.calls import AnyCall, rendered
from earnest.surfaces.web.door import BODY_BYTES_MAX
from earnest.surfaces.web.limits import Quotas
from earnest.surfaces.web.problems import CODES, answers, type_of

_ERRORS: Final[Errors] = {
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
_ERRORS_BYTES: Final = canonical_bytes(_ERRORS)

router = APIRouter(tags=["meta"])


@router.get("/meta/errors", **answers(Errors))
async def get_errors(call: AnyCall) -> Response:  # noqa: ARG001 - the door needs it
    """Every code that a problem can have."""
    return Response(_ERRORS_BYTES, media_type="application/json")


@router.get("/meta/limits", **answers(Limits))
async def get_limits(request: Request, call: AnyCall) -> Response:
    """The numbers that hold here."""
    quotas: Quotas = request.app.state.quotas
    shown: list[QuotaShown] = [{"name": one.name, "count": one.count, "window_s": one.window_s} for one in quotas.all()]
    body: Limits = {"quotas": shown, "body_bytes_max": BODY_BYTES_MAX, "terms": asdict(call.market.terms)}
    return rendered(body)
