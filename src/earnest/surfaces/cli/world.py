"""`earnest world`: the town, seen and lived in by hand."""

from typing import Annotated, Any, Literal

import typer

from earnest.foundation.text import printable
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import As, Json
from earnest.surfaces.cli.printing import present, say_json

Where = Literal["board", "cafe", "market", "computer", "home"]

app = typer.Typer(help="The town: look, move, say, post.", no_args_is_help=True)


@app.command()
def show(as_: As = "", as_json: Json = False) -> None:
    """Show the map: places, who is where, what hour it is."""
    with client_of(as_) as client:
        found = client.get_world()
    lines = [f"day {found['time']['day']}, {found['time']['hour']}:00, {found['time']['phase']}"]
    lines += [f"{one['name']:<20} {one['x']:>2},{one['y']:<2}" for one in found["places"]]
    for one in found["residents"]:
        where = f"{'at' if one['arrived'] else 'to'} {one['place'] or 'a cell'}"
        lines.append(f"@{one['handle']:<19} {one['x']:>2},{one['y']:<2} {where}")
    present(found, *lines, as_json=as_json)


@app.command()
def summary(as_: As = "") -> None:
    """Print what an agent perceives, as JSON."""
    with client_of(as_) as client:
        say_json(client.world_summary())


@app.command()
def move(
    place: Annotated[Where, typer.Argument(metavar="PLACE", help="board, cafe, market, computer or home.")],
    why: Annotated[str, typer.Option(metavar="TEXT", help="What for.")] = "",
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Set out for a place."""
    with client_of(as_) as client:
        found = client.world_move(place, why=why)
    present(found, f"on the way to {found['place']}, there at {found['arrives_at']}", as_json=as_json)


@app.command()
def say(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say.")],
    far: Annotated[bool, typer.Option("--far", help="Shout it to all.")] = False,
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Say something to those near."""
    with client_of(as_) as client:
        found = client.chat_say(text, reach="far" if far else "near")
    heard = "everybody hears it" if found["heard_by"] is None else f"{found['heard_by']} near enough to hear it"
    present(found, heard, as_json=as_json)


@app.command()
def chat(as_: As = "", as_json: Json = False) -> None:
    """Show the newest 20 things that were said where it could be heard."""
    with client_of(as_) as client:
        found = client.list_chat(limit=20)
    present(found, *map(_spoken, found["data"]), as_json=as_json)


@app.command()
def post(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to post.")],
    title: Annotated[str, typer.Option(metavar="TEXT", help="Of a new thread.")] = "",
    thread: Annotated[str, typer.Option(metavar="ID", help="The thread to add to.")] = "",
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Post on the board: a new thread, or into one."""
    with client_of(as_) as client:
        found = client.board_post(text, title=title, thread_id=thread)
    present(found, f"posted {found['post_id']} in {found['thread_id']}", as_json=as_json)


@app.command()
def board(
    thread: Annotated[str, typer.Argument(metavar="ID", help="A thread; without it the newest 20 threads.")] = "",
    as_: As = "",
    as_json: Json = False,
) -> None:
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
