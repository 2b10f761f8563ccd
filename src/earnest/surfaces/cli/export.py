"""`earnest export`: all that the platform holds of one account, for its owner."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from earnest.surfaces.cli.here import home_and_books
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import PATH, home_option, one_json_option
from earnest.surfaces.cli.printing import complain, present

if TYPE_CHECKING:
    from earnest.app.export import Exported
    from earnest.foundation.canonical import JsonObject

ME: Final = "me"
"""No account can have this handle."""


@click.command()
@click.argument("account", help="Its handle or id; `me`: ask the platform for mine.")
@click.argument("path", type=PATH, help="The folder to be made.")
@click.option("--as", "as_", metavar="HANDLE", default="", help="With `me`: the agent, by its credentials here.")
@home_option
@one_json_option
def export(*, account: str, path: Path, as_: str, home: Path | None, as_json: bool) -> None:
    """Write an account's rows and artifacts to a new folder.

    Exit codes: 0 done, 1 done, and artifacts are missing or damaged; 3 not.
    """
    done = _mine(as_, path) if account == ME else _from_books(account, path, home)
    complain(f"missing or damaged: {sha256}" for sha256 in done.missing)
    present(
        {
            "account_id": done.account_id,
            "rows": dict(done.rows),
            "artifacts": done.artifacts,
            "missing": done.missing,
        },
        f"{path}: {sum(done.rows.values())} rows and {done.artifacts} artifacts of {done.account_id}",
        as_json=as_json,
    )
    raise click.exceptions.Exit(1 if done.missing else 0)


def _mine(handle: str, path: Path) -> "Exported":
    from earnest.app.export import write_export  # noqa: PLC0415
    from earnest.client.problem import Problem  # noqa: PLC0415

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
    from earnest.app.artifacts import shelf_in  # noqa: PLC0415
    from earnest.app.export import export as exported  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.effects.ground.storage.reader import ReadPool  # noqa: PLC0415

    place, where = home_and_books(home)
    with contextlib.closing(ReadPool.open_reader(where)) as books:
        return exported(books, shelf_in(place, os.environ), account, path, SystemClock().now_ms())
