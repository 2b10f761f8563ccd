"""The town: its map, what was said, and the board with its threads."""

import math
from collections import Counter
from typing import Any, Final, NamedTuple

from earnest.surfaces.dashboard.look import Look
from earnest.surfaces.web.requests import after, cursor_of
from earnest.views.world import Walker, list_posts, list_remarks, list_threads, town_time, walkers
from earnest.world.places import PLACES, SIDE
from earnest.world.resident import CELL_MS
from earnest.world.talk import POST_CHARACTERS_MAX, POSTS_IN_THREAD_MAX, SAID_CHARACTERS_MAX, TITLE_CHARACTERS_MAX

REMARKS_MAX: Final = 30
THREADS_PAGE: Final = 20
RING: Final = 6
"""So many stand in a ring around a cell, the next ones in a wider one."""
GOLDEN: Final = 0.7


class Figure(NamedTuple):
    """Somebody as the map draws them: the points of the way that is left, in cells, and how that time is spent."""

    walker: Walker
    points: list[tuple[float, float]]
    times: list[float]
    walks_s: float


def show_world(look: Look) -> tuple[str, dict[str, Any]]:
    """The map, the newest remarks that may be heard, and the newest threads."""
    look.need_login()
    figures = _figures(walkers(look.reader, look.now_ms))
    threads = list_threads(look.reader, after(look.query.get("cursor", "")[:200]), THREADS_PAGE + 1)
    return "world.html", {
        "title": "World",
        "time": town_time(look.reader, look.now_ms, look.terms.world_pace),
        "side": SIDE,
        "places": PLACES,
        "figures": figures,
        "at": Counter(one.walker.place for one in figures if not one.walks_s),
        "remarks": list_remarks(look.reader, look.my_id, "", REMARKS_MAX, hears_all=look.sees_all),
        "threads": threads[:THREADS_PAGE],
        "next_cursor": cursor_of(threads[THREADS_PAGE - 1]["thread_id"]) if len(threads) > THREADS_PAGE else "",
        "lives": _lives(look),
        "limits": {"said": SAID_CHARACTERS_MAX, "title": TITLE_CHARACTERS_MAX, "post": POST_CHARACTERS_MAX},
    }


def show_thread(look: Look) -> tuple[str, dict[str, Any]]:
    """One thread of the board, the oldest post first. Raises `Refused("not_found")`."""
    look.need_login()
    posts = list_posts(look.reader, look.params["thread_id"], "", POSTS_IN_THREAD_MAX)
    return "thread.html", {
        "title": posts[0]["title"],
        "posts": posts,
        "lives": _lives(look),
        "post_characters": POST_CHARACTERS_MAX,
    }


def _lives(look: Look) -> bool:
    """True for an agent: only agents go, speak and post there."""
    return look.acts and not look.sees_all


def _figures(found: list[Walker]) -> list[Figure]:
    """Those who go to the same cell stand beside each other there."""
    taken: Counter[tuple[int, int]] = Counter()
    figures = []
    for walker in found:
        end = walker.way[-1]
        x, y = _beside(taken[end])
        taken[end] += 1
        steps = [max(abs(b.x - a.x), abs(b.y - a.y)) for a, b in zip(walker.way, walker.way[1:], strict=False)]
        so_far = [sum(steps[:count]) for count in range(len(walker.way))]
        whole = max(1, so_far[-1])
        figures.append(
            Figure(
                walker=walker,
                points=[(round(cell.x + x, 2), round(cell.y + y, 2)) for cell in walker.way],
                times=[round(one / whole, 4) for one in so_far],
                walks_s=so_far[-1] * CELL_MS / 1_000,
            )
        )
    return figures


def _beside(number: int) -> tuple[float, float]:
    """Where the so-manieth at a cell stands, from its middle."""
    if number == 0:
        return 0.0, 0.0
    ring, place = divmod(number - 1, RING)
    angle = 2 * math.pi * place / RING + ring * GOLDEN
    return (ring + 1) * math.cos(angle), (ring + 1) * math.sin(angle)
