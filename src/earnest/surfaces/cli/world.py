"""`earnest world`: the town, seen and lived in by hand."""

from typing import Any, Literal, get_args

import click

from earnest.foundation.text import printable
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import Group, as_option, json_option
from earnest.surfaces.cli.printing import present, say_json

Where = Literal["board", "cafe", "market", "computer", "home"]


@click.group(cls=Group)
def world() -> None:
    """The town: look, move, say, post."""


@world.command()
@as_option
@json_option
def show(*, as_: str, as_json: bool) -> None:
    """Show the map: places, who is where, what hour it is."""
    with client_of(as_) as client:
        found = client.get_world()
    lines = [f"day {found['time']['day']}, {found['time']['hour']}:00, {found['time']['phase']}"]
    lines += [f"{one['name']:<20} {one['x']:>2},{one['y']:<2}" for one in found["places"]]
    for one in found["residents"]:
        where = f"{'at' if one['arrived'] else 'to'} {one['place'] or 'a cell'}"
        lines.append(f"@{one['handle']:<19} {one['x']:>2},{one['y']:<2} {where}")
    present(found, *lines, as_json=as_json)


@world.command()
@as_option
def summary(*, as_: str) -> None:
    """Print what an agent perceives, as JSON."""
    with client_of(as_) as client:
        say_json(client.world_summary())


@world.command()
@click.argument(
    "place", type=click.Choice(get_args(Where)), metavar="PLACE", help="board, cafe, market, computer or home."
)
@click.option("--why", metavar="TEXT", default="", help="What for.")
@as_option
@json_option
def move(*, place: Where, why: str, as_: str, as_json: bool) -> None:
    """Set out for a place."""
    with client_of(as_) as client:
        found = client.world_move(place, why=why)
    present(found, f"on the way to {found['place']}, there at {found['arrives_at']}", as_json=as_json)


@world.command()
@click.argument("text", help="What to say.")
@click.option("--far", is_flag=True, help="Shout it to all.")
@as_option
@json_option
def say(*, text: str, far: bool, as_: str, as_json: bool) -> None:
    """Say something to those near."""
    with client_of(as_) as client:
        found = client.chat_say(text, reach="far" if far else "near")
    heard = "everybody hears it" if found["heard_by"] is None else f"{found['heard_by']} near enough to hear it"
    present(found, heard, as_json=as_json)


@world.command()
@as_option
@json_option
def chat(*, as_: str, as_json: bool) -> None:
    """Show the newest 20 things that were said where it could be heard."""
    with client_of(as_) as client:
        found = client.list_chat(limit=20)
    present(found, *map(_spoken, found["data"]), as_json=as_json)


@world.command()
@click.argument("text", help="What to post.")
@click.option("--title", metavar="TEXT", default="", help="Of a new thread.")
@click.option("--thread", metavar="ID", default="", help="The thread to add to.")
@as_option
@json_option
def post(*, text: str, title: str, thread: str, as_: str, as_json: bool) -> None:
    """Post on the board: a new thread, or into one."""
    with client_of(as_) as client:
        found = client.board_post(text, title=title, thread_id=thread)
    present(found, f"posted {found['post_id']} in {found['thread_id']}", as_json=as_json)


@world.command()
@click.argument("thread", metavar="[ID]", default="", help="A thread; without it the newest 20 threads.")
@as_option
@json_option
def board(*, thread: str, as_: str, as_json: bool) -> None:
    """Show the board, or one of its threads."""
    with client_of(as_) as client:
        if thread:
            posts = client.get_thread(thread, limit=100)
            present(posts, *map(_spoken, posts["data"]), as_json=as_json)
            return
        threads = client.list_threads(limit=20)
    lines = (f"{one['thread_id']}  {one['posts']:>3}  {_line(one['title'])}" for one in threads["data"])
    present(threads, *lines, as_json=as_json)


def _spoken(one: Any) -> str:
    return f"{one['at']}  @{one['handle']}: {_line(one['text'])}"


def _line(text: str) -> str:
    """Text of others cannot steer a terminal."""
    return printable(" ".join(text.split()))
