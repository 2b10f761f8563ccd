"""Artifacts over HTTP: bytes in, the same bytes out, never as a page of ours."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

from earnest.client.payloads import Artifact
from earnest.foundation.errors import Refused
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.artifacts import (
    BRINGERS,
    artifact_json,
    bringing,
    find_readable,
    keep_artifact,
    media_type_of,
)
from earnest.surfaces.web.calls import MyCall, RawCall
from earnest.surfaces.web.problems import problems

router = APIRouter(tags=["artifacts"])
Sha256 = Annotated[str, Path(pattern=r"^sha256:[0-9a-f]{64}$", description="`sha256:` and 64 hexadecimal digits.")]
HARMLESS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""What is stored is shown by no browser as a page of this platform."""
_BYTES: Final[dict[str, Any]] = {
    "requestBody": {
        "required": False,  # nothing is an artifact of no bytes
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/artifacts", status_code=201, response_model=Artifact, responses=problems("limit_reached"), openapi_extra=_BYTES
)
async def post_artifact(request: Request, call: RawCall) -> Response:
    """Bring a file: the body is its bytes. The same bytes again are the same artifact."""
    limits, me = call.market.artifacts.limits, call.me
    me.need(*BRINGERS)
    call.check_key()
    media_type = media_type_of(request.headers.get("content-type", ""))
    with bringing(call.market, me.id) as brought:
        stored = await brought.put(request.stream(), _announced_bytes(request, limits.item_bytes))
        call.body = {"sha256": stored.sha256, "media_type": media_type}  # what an Idempotency-Key stands for

        def act(entry: StoryContext) -> Artifact:
            return artifact_json(keep_artifact(entry, limits, stored, media_type))

        return await call.perform(act, status=201)


@router.get(
    "/artifacts/{sha256}",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        **problems("not_found"),
    },
)
async def get_artifact(sha256: Sha256, call: MyCall) -> Response:
    """An artifact of mine, or one that its owner has handed in to me."""
    found = call.market.desk.database.read_sync(lambda reader: find_readable(reader, call.me, sha256))
    path = await asyncio.to_thread(call.market.artifacts.checked, found.sha256)
    name = sha256.removeprefix("sha256:")
    return _Whole(path, media_type=found.media_type, filename=name, headers=HARMLESS)


class _Whole(FileResponse):
    """A file, all of it whatever `Range` says: it is hashed whole for each answer, and a part would prove nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        self.headers["Accept-Ranges"] = "none"
        headers = [(name, text) for name, text in scope["headers"] if name != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


def _announced_bytes(request: Request, bytes_max: int) -> int:
    """What Content-Length says, else the most there may be. Raises `Refused("too_large")` for more."""
    text = request.headers.get("content-length", "")
    announced = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else bytes_max
    if announced > bytes_max or len(text) >= 16:
        raise Refused("too_large", f"an artifact has at most {bytes_max} bytes")
    return announced
