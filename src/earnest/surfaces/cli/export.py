"""`earnest export`: all that the platform holds of one account, for its owner."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

if TYPE_CHECKING:
    from earnest.app.export import Exported
    from earnest.foundation.canonical import JsonObject

ME: Final = "me"
"""No account can have this handle."""


def export(
    account: Annotated[
        str,
        typer.Argument(metavar="ACCOUNT", help="Its handle or id; `me`: ask the platform for mine."),
    ],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder to be made.")],
    *,
    as_: Annotated[
        str, typer.Option("--as", metavar="HANDLE", help="With `me`: the agent, by its credentials here.")
    ] = "",
    home: Annotated[Path | None, typer.Option(help="The data directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write an account's rows and artifacts to a new folder.

    Exit codes: 0 done, 1 done, and artifacts are missing or damaged; 3 not.
    """
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415

    done = _mine(as_, path) if account == ME else _from_books(account, path, home)
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


def _mine(handle: str, path: Path) -> "Exported":
    from earnest.app.export import write_export  # noqa: PLC0415
    from earnest.client.problem import Problem  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415

    with client_of(handle) as client:

        def content(sha256: str) -> bytes | None:
            try:
                return client.download(sha256)
            except Problem as problem:
                if problem.retryable:
                    raise
                return None

        return write_export(lambda: cast("JsonObject", client.get_export()), content, path)


def _from_books(account: str, path: Path, home: Path | None) -> "Exported":
    import os  # noqa: PLC0415

    from earnest.app.artifacts import shelf_in  # noqa: PLC0415
    from earnest.app.export import export as exported  # noqa: PLC0415
    from earnest.app.judging_settings import books_of  # noqa: PLC0415
    from earnest.app.places import home_of  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.effects.ground.storage.reader import ReadPool  # noqa: PLC0415

    place = home or home_of(os.environ)
    books = ReadPool.open_reader(books_of(place, os.environ))
    try:
        return exported(books, shelf_in(place, os.environ), account, path, SystemClock().now_ms())
    finally:
        books.close()
