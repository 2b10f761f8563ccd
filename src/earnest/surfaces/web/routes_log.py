"""The log over HTTP: what anybody can hold the platform to."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from earnest.surfaces.web.calls import AnyCall, MyCall, rendered
from earnest.surfaces.web.problems import problems
from earnest.views.log import newest_checkpoint, proof_of

router = APIRouter(tags=["log"])


class Checkpoint(BaseModel):
    """So many facts have this Merkle root."""

    size: int
    root: str
    sealed_at: str | None


class Proof(BaseModel):
    """A leaf's path to the root of a checkpoint (RFC 9162 §2.1.3), as hexadecimal hashes."""

    seq: int
    leaf: str
    checkpoint: Checkpoint
    path: list[str]


@router.get("/log/checkpoint", response_model=Checkpoint)
async def get_checkpoint(call: AnyCall) -> Response:
    """The newest checkpoint: keep it, and any later one must contain it."""
    return call.read(newest_checkpoint)


@router.get("/log/proof", response_model=Proof, responses=problems("not_found", "maintenance"))
async def get_proof(call: MyCall, seq: Annotated[int, Query(ge=1, le=2**53 - 1)]) -> Response:
    """That a fact stands under the newest checkpoint, without what it says."""
    return rendered(await call.market.desk.database.read(lambda reader: proof_of(reader, seq)))
