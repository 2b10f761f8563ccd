"""`earnest migrate`: the books brought to this version of the program, and back; or to another engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.effects.ground.storage.place import Books


def migrate(
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="PLACE", help="Move the books to postgresql://… or back to sqlite.")
    ] = "",
    artifacts_to: Annotated[
        str, typer.Option("--artifacts-to", metavar="PLACE", help="Copy the artifacts to s3://… or back to folder.")
    ] = "",
    back: Annotated[bool, typer.Option("--back", help="Put the books of before the last migration back.")] = False,
    lose_facts: Annotated[
        bool, typer.Option("--lose-facts", help="With --back: even if facts were recorded since.")
    ] = False,
    home: Annotated[Path | None, typer.Option(help="The data directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Migrate the books, after keeping a copy; any command that writes does so, too.

    With --to they are copied to another engine, and compared, while nobody uses them; what was cut off goes on. Exit
    codes: 0 done, or nothing to do; 1 artifacts were copied and some are missing; 3 not.
    """
    import os  # noqa: PLC0415

    from earnest.app.judging_settings import books_of  # noqa: PLC0415
    from earnest.app.moving import go_back, go_on  # noqa: PLC0415
    from earnest.app.places import home_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    books = books_of(home or home_of(os.environ), os.environ)
    if sum(map(bool, (to, artifacts_to, back or lose_facts))) > 1:
        raise typer.BadParameter("give one of --to, --artifacts-to and --back")
    if to:
        _move(books, to, as_json=as_json)
        return
    if artifacts_to:
        _copy_artifacts(books, artifacts_to, as_json=as_json)
        return
    before, now = go_back(books, lose_facts=lose_facts) if back else go_on(books)
    if as_json:
        names = ("before", "now")
        say_json({name: one._asdict() for name, one in zip(names, (before, now), strict=True)})
    elif before.revision == now.revision:
        say(f"nothing to do: the books have revision {now.revision}")
    else:
        say(f"from revision {before.revision} to {now.revision}; {now.facts} facts")


def _move(books: "Books", to: str, *, as_json: bool) -> None:
    from earnest.app.moving import move_books, place_of  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json, tell  # noqa: PLC0415

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
    import os  # noqa: PLC0415

    from earnest.app.artifacts import copy_artifacts  # noqa: PLC0415
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415

    copied, missing = copy_artifacts(books, to, os.environ)
    complain(f"missing: {sha256}, which the books know" for sha256 in missing)
    if as_json:
        say_json({"artifacts_to": to, "copied": copied, "missing": list(missing)})
    else:
        say(f"copied {copied} artifacts that were not there yet; now set EARNEST_ARTIFACTS or take it away")
    raise typer.Exit(1 if missing else 0)
