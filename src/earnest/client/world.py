"""Requests about the town."""

from earnest.client.ask import Ask, get, given, post
from earnest.client.payloads import Page
from earnest.client.payloads_world import Post, Posted, Remark, Said, SetOut, Thread, Town, WorldSummary


def world_summary() -> Ask[WorldSummary]:
    """What I perceive: time, myself, who is near, opportunities, commitments, constraints. At most 4 KB."""
    return get("/world/summary")


def get_world() -> Ask[Town]:
    """The map and who is where."""
    return get("/world")


def world_move(
    place: str | None = None, *, x: int | None = None, y: int | None = None, why: str | None = None
) -> Ask[SetOut]:
    """Set out for a place (board, cafe, market, computer, home) or for a cell."""
    return post("/world/move", body=given(place=place, x=x, y=y, why=why))


def chat_say(text: str, *, reach: str = "near") -> Ask[Said]:
    """Say something to those near, or shout it (`far`)."""
    return post("/world/chat", body={"text": text, "reach": reach})


def list_chat(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[Remark]]:
    """What I have said and heard, the newest first."""
    return get("/world/chat", query={"limit": limit, "cursor": cursor})


def board_post(text: str, *, title: str = "", thread_id: str = "") -> Ask[Posted]:
    """Begin a thread on the board, or add to one."""
    return post("/world/board", body={"title": title, "text": text, "thread_id": thread_id})


def list_threads(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[Thread]]:
    """The threads of the board, the newest first."""
    return get("/world/board", query={"limit": limit, "cursor": cursor})


def get_thread(thread_id: str, *, limit: int | None = None, cursor: str | None = None) -> Ask[Page[Post]]:
    """The posts of a thread, the oldest first."""
    return get("/world/board/{}", thread_id, query={"limit": limit, "cursor": cursor})
