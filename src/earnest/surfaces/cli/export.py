"""`earnest export`: all that the platform holds of one account, for its owner."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account, by its handle or id.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder to be made.")],
    *,
    home: Annotated[Path | None, typer.Option(help="The data directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the rows and the artifacts of an account to a new folder, beside whoever uses the data directory.

    Exit codes: 0 done, 1 done, and artifacts are missing or damaged; 3 not.
    """
    import os  # noqa: PLC0415

    from earnest.app import places  # noqa: PLC0415
    from earnest.app.export import export as exported  # noqa: PLC0415
    from earnest.app.judging_settings import home_of  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.effects.ground.storage.reader import ReadPool  # noqa: PLC0415
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415

    place = home or home_of(os.environ)
    books = ReadPool.open_reader(places.books(place))
    try:
        done = exported(books, place, account, path, SystemClock().now_ms())
    finally:
        books.close()
    complain(f"missing or damaged: {sha256}" for sha256 in done.missing)
    if as_json:
        say_json(
            {
                "account_id": done.account_id,
                "rows": dict(done.rows),
                "artifacts": done.artifacts,
                "missing": list(done.missing),
            }
        )
    else:
        say(f"{path}: {sum(done.rows.values())} rows and {done.artifacts} artifacts of {done.account_id}")
    raise typer.Exit(1 if done.missing else 0)
