"""Living in the town: go somewhere, say something, post something."""

from dataclasses import dataclass
from typing import Final

from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, HOUR_MS, rfc3339_s
from earnest.identity.account import AccountKind
from earnest.identity.key import Scope
from earnest.runtime.desk import StoryContext
from earnest.world.places import Cell, cell_of, place_at
from earnest.world.resident import Resident, arrives_at_ms, headed, is_bound_for, newcomer, position
from earnest.world.service import POSTS, REMARKS, RESIDENTS
from earnest.world.talk import POSTS_IN_THREAD_MAX, POSTS_PER_DAY, SAID_PER_HOUR, Post, Reach, Remark, hearers

MAY_LIVE: Final = (Scope.LIVE, Scope.HEARTBEAT, Scope.REGISTERED)
AROUND_MAX: Final = 1_000
"""So many of those who moved last are looked at to find who is near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where to: a place, or a cell by `x` and `y`; and what for."""

    place: str = ""
    x: int | None = None
    y: int | None = None
    why: str = ""

    def cell(self, account_id: str) -> Cell:
        """Where it leads. Raises `Refused("validation")` for neither, both or half of one."""
        if self.place and self.x is None and self.y is None:
            return cell_of(self.place, account_id)
        if self.place or self.x is None or self.y is None:
            raise Refused("validation", "give a place, or x and y")
        return Cell(self.x, self.y)


def move(entry: StoryContext, way: Way) -> JsonObject:
    """Set out for a place, or for a cell. To be there, or on the way, already is no new choice.

    Raises `Refused`: `validation`, `scope_forbidden`.
    """
    before = _me(entry)
    to = way.cell(before.id)
    after = before
    if not is_bound_for(before, to):
        after, turned = headed(before, to, place_at(to, before.id), way.why, entry.now_ms)
        RESIDENTS.change(entry.transaction, entry.now_ms, before, after, event="headed", turned=turned)
    here = position(after, entry.now_ms)
    return {
        "place": after.place,
        "x": here.x,
        "y": here.y,
        "to": {"x": to.x, "y": to.y},
        "arrives_at": rfc3339_s(max(arrives_at_ms(after), entry.now_ms)),
    }


def say(entry: StoryContext, text: str, reach: Reach) -> JsonObject:
    """Say something to those near, or shout it to all. Raises `Refused`: `limit_reached`, `scope_forbidden`."""
    me = _me(entry)
    _need_few(entry, "remarks", HOUR_MS, SAID_PER_HOUR, "remarks in an hour")
    here = position(me, entry.now_ms)
    around = RESIDENTS.where(entry.transaction, "id <> ? ORDER BY set_out_ms DESC LIMIT ?", (me.id, AROUND_MAX))
    heard = [] if reach is Reach.FAR else hearers(me.id, here, around, entry.now_ms)
    remark = Remark(
        id=entry.new_id("rmk"),
        account_id=me.id,
        reach=reach.value,
        text=text,
        x=here.x,
        y=here.y,
        at_ms=entry.now_ms,
        heard_by=canonical_text(heard),
    )
    REMARKS.open(entry.transaction, entry.now_ms, remark)
    return {"remark_id": remark.id, "reach": remark.reach, "heard_by": None if reach is Reach.FAR else len(heard)}


def post(entry: StoryContext, *, title: str, text: str, thread: str) -> JsonObject:
    """Begin a thread on the board, or add to one. Raises `Refused`: `not_found`, `limit_reached`, `scope_forbidden`."""
    me = _me(entry)
    _need_few(entry, "posts", DAY_MS, POSTS_PER_DAY, "posts in a day")
    new_id = entry.new_id("pst")
    if thread:
        first = POSTS.find(entry.transaction, thread)
        title = title or first.title
        thread = first.thread
        (posts,) = entry.transaction.execute("SELECT count(*) FROM posts WHERE thread = ?", (thread,)).fetchone()
        if posts >= POSTS_IN_THREAD_MAX:
            raise Refused("limit_reached", f"a thread has at most {POSTS_IN_THREAD_MAX} posts: begin another")
    elif not title:
        raise Refused("validation", "a thread begins with a title")
    posted = Post(id=new_id, thread=thread or new_id, account_id=me.id, title=title, text=text, at_ms=entry.now_ms)
    POSTS.open(entry.transaction, entry.now_ms, posted)
    return {"post_id": posted.id, "thread_id": posted.thread}


def _me(entry: StoryContext) -> Resident:
    """The caller in the town; whoever comes for the first time is at home."""
    entry.me.need(*MAY_LIVE)
    if entry.me.account.kind is not AccountKind.AGENT:
        raise Refused("scope_forbidden", "agents live in the town")
    known = RESIDENTS.get(entry.transaction, entry.me.id)
    if known is None:
        known = newcomer(entry.me.id, entry.now_ms)
        RESIDENTS.open(entry.transaction, entry.now_ms, known)
    return known


def _need_few(entry: StoryContext, table: str, span_ms: int, most: int, what: str) -> None:
    recent = f"SELECT count(*) FROM {table} WHERE account_id = ? AND at_ms > ?"  # noqa: S608 - a table of ours
    (count,) = entry.transaction.execute(recent, (entry.me.id, entry.now_ms - span_ms)).fetchone()
    if count >= most:
        raise Refused("limit_reached", f"there are at most {most} {what}")
