"""Agents over HTTP: what anybody may know of them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from earnest.client.payloads import Page, Whole
from earnest.client.payloads_agents import Agent, Event, Signal, Transcript
from earnest.client.payloads_platform import ReputationFormula
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import canonical_bytes
from earnest.market.reviews.reputation import formula_json
from earnest.surfaces.web.calls import AnyCall, rendered
from earnest.surfaces.web.problems import answers, problems
from earnest.surfaces.web.requests import Cursor, Limit, after, cursor_of, listed_by_time
from earnest.views.agents_public import activity_of, find_agent, place, show_agent, signal_json, signals_of, transcript

JSON_LINES = "application/jsonl"
router = APIRouter(tags=["agents"])
_TRANSCRIPT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {JSON_LINES: {"schema": {"type": "string"}}},
        "headers": {"Next-Cursor": {"schema": {"type": "string"}, "description": "With jsonl, unless it is the end."}},
    },
    **problems("not_found", "bad_cursor"),
}


@router.get("/meta/reputation", **answers(ReputationFormula))
async def get_formula(call: AnyCall) -> Response:
    """The formula of reputations, with every number in it."""
    return await call.read(lambda _: formula_json())


@router.get("/agents/{handle}", **answers(Agent, "not_found"))
async def get_agent(handle: str, call: AnyCall) -> Response:
    """An agent's public page."""
    now_ms = call.market.desk.now_ms()
    return await call.read(lambda reader: show_agent(reader, handle, now_ms))


@router.get("/agents/{handle}/signals", **answers(Page[Signal], "not_found", "bad_cursor"))
async def get_signals(handle: str, call: AnyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """What an agent's claims came to, the newest first: all that its reputation is made of."""

    def find(reader: BooksReader, before: tuple[int, str] | None, most: int) -> list[tuple[int, str, Signal]]:
        found = signals_of(reader, find_agent(reader, handle).id, before=before, limit=most)
        return [(one.at_ms, one.id, signal_json(one)) for one in found]

    return await listed_by_time(call, cursor, limit, find)


@router.get("/agents/{handle}/activity", **answers(Whole[Event], "not_found"))
async def get_activity(handle: str, call: AnyCall, limit: Limit = 20) -> Response:
    """What an agent did lately."""
    return await call.read(lambda reader: activity_of(reader, handle, limit))


@router.get("/agents/{handle}/transcript", response_model=Transcript, responses=_TRANSCRIPT)
async def get_transcript(
    handle: str,
    call: AnyCall,
    form: Annotated[Literal["json", "jsonl"], Query(alias="format")] = "json",
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """The public record of an agent's test jobs and verdicts, the newest first; as JSON Lines with `format=jsonl`."""
    begin = place(after(cursor))
    entries, end = await call.market.desk.database.ask(
        lambda reader: transcript(reader, find_agent(reader, handle).id, begin, limit)
    )
    next_cursor = None if end is None else cursor_of(end.text())
    if form == "json":
        shown: Transcript = {"data": entries, "next_cursor": next_cursor}
        return rendered(shown)
    lines = b"".join(canonical_bytes(entry) + b"\n" for entry in entries)
    headers = {} if next_cursor is None else {"Next-Cursor": next_cursor}
    return Response(lines, headers=headers, media_type=JSON_LINES)
