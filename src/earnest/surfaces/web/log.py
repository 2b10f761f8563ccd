"""The log over HTTP: signed checkpoints, proofs, cosignatures, and receipts of what ended."""

import base64
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Response
from pydantic import StringConstraints

from earnest.client.payloads_platform import Checkpoint, Consistency, Cosigned, LogKeys, Proof, Receipt
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.journal.notary import Notary
from earnest.journal.notes import NOTE_CHARACTERS_MAX, signed_checkpoint
from earnest.journal.proving import newest_head
from earnest.journal.receipt import Draft
from earnest.runtime.desk import Desk
from earnest.runtime.tree_heads import keep_cosignatures
from earnest.surfaces.web.calls import AnyCall, Call, MyCall, rendered
from earnest.surfaces.web.problems import answers, problems
from earnest.surfaces.web.requests import Strict
from earnest.views.receipts import claim_draft, consistency_of, day_draft, newest_checkpoint, proof_of

CHECKPOINT_HEADER: Final = b"earnest-checkpoint"
LOOK_MS: Final = 1_000
"""A newer head is looked for so often: the log is not sealed more often either."""
SEQ_MAX: Final = 2**53 - 1
PAGE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_TEXT: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
Seq = Annotated[int, Query(ge=1, le=SEQ_MAX)]
Size = Annotated[int | None, Query(ge=1, le=SEQ_MAX)]
Day = Annotated[str, Path(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class Cosign(Strict):
    """A checkpoint of this log with the lines of witnesses: a signed note."""

    checkpoint: Annotated[str, StringConstraints(max_length=NOTE_CHARACTERS_MAX)]


class NewestCheckpoint:
    """The header that says the newest checkpoint: base64 of the signed note, without cosignatures."""

    def __init__(self, desk: Desk, notary: Notary | None) -> None:
        self._desk = desk
        self._notary = notary
        self._size = 0
        self._looked_ms: int | None = None
        self._headers: tuple[tuple[bytes, bytes], ...] = ()

    async def headers(self, now_ms: int) -> tuple[tuple[bytes, bytes], ...]:
        """None before anything is sealed."""
        notary = self._notary
        if notary is not None and (self._looked_ms is None or not 0 <= now_ms - self._looked_ms < LOOK_MS):
            self._looked_ms = now_ms
            await self._desk.database.ask(lambda reader: self._look(reader, notary))
        return self._headers

    def _look(self, reader: BooksReader, notary: Notary) -> None:
        head = newest_head(reader)
        if head is not None and head.size != self._size:
            note = str(signed_checkpoint(notary.key, head))
            self._size, self._headers = head.size, ((CHECKPOINT_HEADER, base64.b64encode(note.encode())),)


router: Final = APIRouter(tags=["log"])
checkpoint_router: Final = APIRouter(tags=["log"])
page_router: Final = APIRouter(include_in_schema=False)


@router.get("/log/checkpoint", **answers(Checkpoint))
async def get_checkpoint(call: AnyCall) -> Response:
    """The newest checkpoint: keep it, and any later one must contain it."""
    return await call.read(newest_checkpoint)


@router.get("/log/proof", **answers(Proof, "not_found"))
async def get_proof(call: MyCall, seq: Seq) -> Response:
    """That a fact stands under the newest checkpoint, without what it says."""
    return rendered(await call.market.desk.database.read(lambda reader: proof_of(reader, seq)))


@router.get("/log/consistency", **answers(Consistency, "not_found"))
async def get_consistency(
    call: AnyCall, old: Annotated[int, Query(alias="from", ge=1, le=SEQ_MAX)], to: Size = None
) -> Response:
    """That a later checkpoint, by default the newest, only added to an older one."""
    return rendered(await call.market.desk.database.read(lambda reader: consistency_of(reader, old, to)))


@router.get("/log/keys", **answers(LogKeys, "not_found"))
async def get_keys(call: AnyCall) -> Response:
    """By which keys the log signs and signed, and whose cosignatures are kept. Get the key itself elsewhere too."""
    signing = _need(call)
    body: LogKeys = {
        "origin": signing.key.name,
        "key": str(signing.key.public),
        "former": [str(key) for key in signing.former],
        "witnesses": [str(key) for key in signing.witnesses],
    }
    return rendered(body)


@router.post("/log/cosignatures", **answers(Cosigned, "not_found", "witness_unknown"))
async def post_cosignatures(sent: Cosign, call: AnyCall) -> Response:
    """Hand in what a witness that is known here signed below a checkpoint. The same again changes nothing."""
    signing = _need(call)
    return await call.perform(lambda entry: keep_cosignatures(entry, signing, sent.checkpoint))


@router.get("/claims/{claim_id}/receipt", **answers(Receipt, "not_found", "not_a_party", "not_ended", "not_sealed"))
async def get_claim_receipt(claim_id: str, call: AnyCall) -> Response:
    """The receipt of a claim that has ended: a signed statement that anybody can check.

    Its parties have all of it; anybody else what is public, once the end stands in the seller's record.
    """
    signing, me = _need(call), call.caller
    mine, sees_all = ("", False) if me is None else (me.id, me.sees_all)
    return await _receipt(call, signing, lambda reader: claim_draft(reader, claim_id, mine, sees_all=sees_all))


@router.get("/agents/me/days/{date}/receipt", **answers(Receipt, "not_found", "not_ended", "not_sealed"))
async def get_day_receipt(date: Day, call: MyCall) -> Response:
    """The receipt of a day of mine that is over, with all my heartbeats of it."""
    signing, me, now_ms = _need(call), call.me, call.market.desk.now_ms()
    return await _receipt(call, signing, lambda reader: day_draft(reader, me.id, me.account.handle, date, now_ms))


@checkpoint_router.get(
    "/checkpoint",
    response_class=Response,
    responses={**_TEXT, **problems("not_found", "not_sealed")},
)
async def get_signed_checkpoint(call: AnyCall, size: Size = None) -> Response:
    """The newest checkpoint, or that of `size` facts, as a signed note with its cosignatures."""
    signing = _need(call)
    note = await call.market.desk.database.ask(lambda reader: str(signing.checkpoint(reader, size)))
    return Response(note, media_type="text/plain; charset=utf-8")


@page_router.get("/check-receipt")
async def show_receipt_page() -> Response:
    """The page that checks a receipt, by itself: save it, and it does so without a network."""
    return Response(receipt_page(), media_type="text/html; charset=utf-8", headers=PAGE_HEADERS)


def receipt_page() -> bytes:
    """The page's file."""
    return files("earnest.surfaces").joinpath("receipt.html").read_bytes()


async def _receipt(call: Call, notary: Notary, draft: Callable[[BooksReader], Draft]) -> Response:
    data = await call.market.desk.database.read(lambda reader: notary.receipt(reader, draft(reader)))
    return Response(data, media_type="application/json")


def _need(call: Call) -> Notary:
    if call.notary is None:
        raise Refused("not_found", "this platform has no key to sign with")
    return call.notary
