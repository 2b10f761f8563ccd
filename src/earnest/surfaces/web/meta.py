"""What the platform says of itself over HTTP: its errors, its limits, its terms, and its log."""

from dataclasses import asdict
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from earnest.client.payloads_platform import Checkpoint, Errors, Limits, Proof
from earnest.client.payloads_platform import Quota as QuotaShown
from earnest.foundation.canonical import canonical_bytes
from earnest.surfaces.web.calls import AnyCall, MyCall, rendered
from earnest.surfaces.web.door import BODY_BYTES_MAX
from earnest.surfaces.web.limits import Quotas
from earnest.surfaces.web.problems import CODES, problems, type_of
from earnest.views.log import newest_checkpoint, proof_of

log_router: Final = APIRouter(tags=["log"])
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


def meta_router(quotas: Quotas) -> APIRouter:
    """`/meta/errors` and `/meta/limits`."""
    router = APIRouter(tags=["meta"])

    @router.get("/meta/errors", response_model=Errors)
    async def get_errors(call: AnyCall) -> Response:  # noqa: ARG001 - the door needs it
        """Every code that a problem can have."""
        return Response(_ERRORS_BYTES, media_type="application/json")

    @router.get("/meta/limits", response_model=Limits)
    async def get_limits(call: AnyCall) -> Response:
        """The numbers that hold here."""
        shown: list[QuotaShown] = [
            {"name": one.name, "count": one.count, "window_s": one.window_s} for one in quotas.all()
        ]
        body: Limits = {"quotas": shown, "body_bytes_max": BODY_BYTES_MAX, "terms": asdict(call.market.terms)}
        return rendered(body)

    return router


@log_router.get("/log/checkpoint", response_model=Checkpoint)
async def get_checkpoint(call: AnyCall) -> Response:
    """The newest checkpoint: keep it, and any later one must contain it."""
    return call.read(newest_checkpoint)


@log_router.get("/log/proof", response_model=Proof, responses=problems("not_found"))
async def get_proof(call: MyCall, seq: Annotated[int, Query(ge=1, le=2**53 - 1)]) -> Response:
    """That a fact stands under the newest checkpoint, without what it says."""
    return rendered(await call.market.desk.database.read(lambda reader: proof_of(reader, seq)))
