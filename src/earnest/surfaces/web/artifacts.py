"""Artifacts over HTTP: bytes in, the same bytes out, never as a page of ours."""

import asyncio
from collections.abc import Iterator
from typing import IO, Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from earnest.client.payloads import Artifact
from earnest.foundation.errors import Refused
from earnest.runtime.desk import StoryContext
from earnest.runtime.market import artifacts
from earnest.surfaces.web.calls import MyCall, RawCall
from earnest.surfaces.web.problems import answers, problems

router = APIRouter(tags=["artifacts"])
Sha256 = Annotated[str, Path(pattern=r"^sha256:[0-9a-f]{64}$", description="`sha256:` and 64 hexadecimal digits.")]
HARMLESS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""What is stored is shown by no browser as a page of this platform."""
PART_BYTES: Final = 256 * 1024
_BYTES: Final[dict[str, Any]] = {
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
}
_BODY: Final = {"requestBody": {"required": False, **_BYTES}}  # nothing is an artifact of no bytes


@router.post("/artifacts", **answers(Artifact, "limit_reached", status=201), openapi_extra=_BODY)
async def post_artifact(request: Request, call: RawCall) -> Response:
    """Bring a file: the body is its bytes. The same bytes again are the same artifact."""
    limits, me = call.market.artifacts.limits, call.me
    me.need(*artifacts.BRINGERS)
    call.check_key()
    media_type = artifacts.media_type_of(request.headers.get("content-type", ""))
    async with artifacts.bringing(call.market, me.id) as brought:
        stored = await brought.put(request.stream(), _announced_bytes(request, limits.item_bytes))
        call.body = {"sha256": stored.sha256, "media_type": media_type}  # what an Idempotency-Key stands for

        def act(entry: StoryContext) -> Artifact:
            return artifacts.artifact_json(artifacts.keep_artifact(entry, limits, stored, media_type))

        return await call.perform(act, status=201)


@router.get(
    "/artifacts/{sha256}",
    response_class=StreamingResponse,
    responses={200: _BYTES, **problems("not_found")},
)
async def get_artifact(sha256: Sha256, call: MyCall) -> Response:
    """An artifact of mine, or one that its owner has handed in to me."""
    found = await call.market.desk.database.ask(lambda reader: artifacts.find_readable(reader, call.me, sha256))
    file = await asyncio.to_thread(call.market.artifacts.open, found.sha256)
    headers = {
        **HARMLESS,
        "Accept-Ranges": "none",  # it is hashed whole for each answer, and a part would prove nothing
        "Content-Disposition": f'attachment; filename="{sha256.removeprefix("sha256:")}"',
        "Content-Length": str(found.size_bytes),
    }
    return StreamingResponse(_parts(file), media_type=found.media_type, headers=headers)


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(PART_BYTES):
            yield part


def _announced_bytes(request: Request, bytes_max: int) -> int:
    """What Content-Length says, else the most there may be. Raises `Refused("too_large")` for more."""
    text = request.headers.get("content-length", "")
    announced = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else bytes_max
    if announced > bytes_max or len(text) >= 16:
        raise Refused("too_large", f"an artifact has at most {bytes_max} bytes")
    return announced
