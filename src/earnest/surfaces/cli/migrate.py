"""`earnest migrate`: the books brought to this version of the program, and back; or to another engine."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earnest.surfaces.cli.here import home_and_books
from earnest.surfaces.cli.options import home_option, one_json_option
from earnest.surfaces.cli.printing import complain, present, say, say_json, tell

if TYPE_CHECKING:
    from earnest.effects.ground.storage.place import Books


@click.command()
@click.option("--to", metavar="PLACE", default="", help="Move the books to postgresql://… or back to sqlite.")
@click.option("--artifacts-to", metavar="PLACE", default="", help="Copy the artifacts to s3://… or back to folder.")
@click.option("--back", is_flag=True, help="Put the books of before the last migration back.")
@click.option("--lose-facts", is_flag=True, help="With --back: even if facts were recorded since.")
@home_option
@one_json_option
def migrate(*, to: str, artifacts_to: str, back: bool, lose_facts: bool, home: Path | None, as_json: bool) -> None:
    """Migrate the books, after keeping a copy; any command that writes does so, too.

    With --to they are copied to another engine, and compared, while nobody uses them; what was cut off goes on. Exit
    codes: 0 done, or nothing to do; 1 artifacts were copied and some are missing; 3 not.
    """
    from earnest.app.moving import go_back, go_on  # noqa: PLC0415

    _, books = home_and_books(home)
    if sum(map(bool, (to, artifacts_to, back or lose_facts))) > 1:
        raise click.BadParameter("give one of --to, --artifacts-to and --back")
    if to:
        _move(books, to, as_json=as_json)
        return
    if artifacts_to:
        _copy_artifacts(books, artifacts_to, as_json=as_json)
        return
    before, now = go_back(books, lose_facts=lose_facts) if back else go_on(books)
    if as_json:
        say_json({"before": before._asdict(), "now": now._asdict()})
    elif before.revision == now.revision:
        say(f"nothing to do: the books have revision {now.revision}")
    else:
        say(f"from revision {before.revision} to {now.revision}; {now.facts} facts")


def _move(books: "Books", to: str, *, as_json: bool) -> None:
    from earnest.app.moving import move_books, place_of  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415

    target = place_of(books, to)
    moved = move_books(books, target, SystemClock(), tell)
    tell("")
    head = {"size": moved.head.size, "root": moved.head.root.hex()} if moved.head else None
    if as_json:
        say_json(
            {
                "from": moved.source,
                "to": moved.target,
                "facts": moved.facts,
                "went_on_at": moved.went_on_at,
                "rows": moved.rows,
                "head": head,
                "balances": moved.balances,
            }
        )
        return
    others = sum(moved.rows.values()) - moved.facts
    say(
        f"moved from {moved.source} to {moved.target}: {moved.facts} facts and {others} other rows",
        f"each row compared, all made anew from the facts; {moved.head.size if moved.head else 'none'} of these sealed",
        "now set EARNEST_DATABASE (or `database` in settings.toml) to the new place"
        if to != "sqlite"
        else "now take EARNEST_DATABASE (or `database` in settings.toml) away",
    )


def _copy_artifacts(books: "Books", to: str, *, as_json: bool) -> None:
    from earnest.app.artifacts import copy_artifacts  # noqa: PLC0415

    copied, missing = copy_artifacts(books, to, os.environ)
    complain(f"missing: {sha256}, which the books know" for sha256 in missing)
    present(
        {"artifacts_to": to, "copied": copied, "missing": list(missing)},
        f"copied {copied} artifacts that were not there yet; now set EARNEST_ARTIFACTS or take it away",
        as_json=as_json,
    )
    raise click.exceptions.Exit(1 if missing else 0)
