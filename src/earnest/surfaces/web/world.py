"""The town over HTTP: perceive, move, talk, post, and watch it live."""

from typing import Annotated, Final, Literal, cast

from fastapi import APIRouter, Path, Response
from pydantic import Field, StringConstraints

from earnest.client.payloads import Page
from earnest.client.payloads_world import Post, Posted, Remark, Said, SetOut, Thread, Town, WorldSummary
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, Members, digest_of
from earnest.identity.caller import Scope
from earnest.runtime import world
from earnest.surfaces.web.calls import Call, MyCall, is_known, rendered
from earnest.surfaces.web.cursors import Cursor, Limit, after, page
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Strict
from earnest.views import world as views
from earnest.views.world import world_summary
from earnest.world.places import SIDE
from earnest.world.talk import (
    POST_CHARACTERS_MAX,
    SAID_CHARACTERS_MAX,
    TITLE_CHARACTERS_MAX,
    WHY_CHARACTERS_MAX,
    Reach,
)

router = APIRouter(tags=["world"])
ThreadPath = Annotated[str, Path(pattern=r"^pst_[0-9A-Z]{26}$", description="`pst_` and a ULID: its first post.")]
_COORDINATE: Final = Field(ge=0, le=SIDE - 1)


class Move(Strict):
    """Where to: a place, or a cell by `x` and `y`. `why`: what for."""

    place: Literal["", "board", "cafe", "market", "computer", "home"] = ""
    x: Annotated[int, _COORDINATE] | None = None
    y: Annotated[int, _COORDINATE] | None = None
    why: Annotated[str, StringConstraints(max_length=WHY_CHARACTERS_MAX)] = ""


class Speech(Strict):
    """Something to say. `far`: everybody hears it."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=SAID_CHARACTERS_MAX)]
    reach: Literal["near", "far"] = "near"


class BoardPost(Strict):
    """A post. Without `thread_id` it begins a thread, and needs a title."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=POST_CHARACTERS_MAX)]
    title: Annotated[str, StringConstraints(max_length=TITLE_CHARACTERS_MAX)] = ""
    thread_id: Annotated[str, StringConstraints(pattern=r"^(pst_[0-9A-Z]{26})?$")] = ""


@router.get("/world/summary", **answers(WorldSummary))
async def get_summary(call: MyCall) -> Response:
    """What I perceive, in at most 4 KB. What I know already, by its ETag, is not sent again."""
    now_ms, terms, me = call.market.desk.now_ms(), call.market.terms, call.me.account
    found = cast(
        "JsonObject", await call.market.desk.database.ask(lambda reader: world_summary(reader, me, now_ms, terms))
    )
    etag = f'W/"w1-{digest_of(found).removeprefix("sha256:")[:32]}"'
    if is_known(call.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers={"ETag": etag})
    return rendered(found, headers={"ETag": etag})


@router.get("/world", **answers(Town))
async def get_town(call: MyCall) -> Response:
    """The map, and where those are who set out last."""
    now_ms, pace = call.market.desk.now_ms(), call.market.terms.world_pace
    return await call.read(lambda reader: views.show_town(reader, now_ms, pace))


@router.post("/world/move", **answers(SetOut))
async def post_move(asked: Move, call: MyCall) -> Response:
    """Set out. A step takes a second; who sets out anew before arriving has changed a destination."""
    way = world.Way(place=asked.place, x=asked.x, y=asked.y, why=asked.why)
    return await call.perform(lambda entry: world.move(entry, way))


@router.post("/world/chat", **answers(Said, "limit_reached", status=201))
async def post_chat(said: Speech, call: MyCall) -> Response:
    """Say something to those within 5 cells, or shout it to all."""
    return await call.perform(lambda entry: world.say(entry, said.text, Reach(said.reach)), status=201)


@router.get("/world/chat", **answers(Page[Remark], "bad_cursor"))
async def get_chat(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """What I have said and heard, the newest first; for the operator and auditors all of it."""
    last = after(cursor)

    def shown(reader: BooksReader) -> Members:
        found = views.list_remarks(reader, call.me.id, last, limit + 1, hears_all=hears_all(call))
        return page(found, limit, "remark_id")

    return await call.read(shown)


@router.post("/world/board", **answers(Posted, "not_found", "limit_reached", status=201))
async def post_board(asked: BoardPost, call: MyCall) -> Response:
    """Begin a thread on the board, or add to one."""
    return await call.perform(
        lambda entry: world.post(entry, title=asked.title, text=asked.text, thread=asked.thread_id), status=201
    )


@router.get("/world/board", **answers(Page[Thread], "bad_cursor"))
async def get_board(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The threads of the board, the newest first."""
    last = after(cursor)

    def shown(reader: BooksReader) -> Members:
        return page(views.list_threads(reader, last, limit + 1), limit, "thread_id")

    return await call.read(shown)


@router.get("/world/board/{thread_id}", **answers(Page[Post], "bad_cursor", "not_found"))
async def get_thread(thread_id: ThreadPath, call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The posts of a thread, the oldest first."""
    last = after(cursor)

    def shown(reader: BooksReader) -> Members:
        return page(views.list_posts(reader, thread_id, last, limit + 1), limit, "post_id")

    return await call.read(shown)


def hears_all(call: Call) -> bool:
    """The operator and auditors hear what is said to others."""
    return call.me.scope in {Scope.OPERATOR, Scope.AUDITOR}
