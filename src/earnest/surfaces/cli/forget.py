"""`earnest forget`: what is personal of an account goes."""

import contextlib
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.here import home_and_books
from earnest.surfaces.cli.options import Home, OneJson
from earnest.surfaces.cli.printing import present


def forget(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account, by its handle or id.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
    as_json: OneJson = False,
) -> None:
    """Remove what an account's owner wrote from rows and facts, and end the account.

    It cannot be undone. Exit codes: 0 done, 3 not.
    """
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.effects.ground.storage.database import Database  # noqa: PLC0415
    from earnest.runtime.forgetting import forget as forgetting  # noqa: PLC0415

    (_, books), clock = home_and_books(home), SystemClock()
    if isinstance(books, Path) and not books.is_file():
        raise Refused("no_database", f"there is no database at {books}")
    if not yes:
        typer.confirm(f"Forget {account} for good?", abort=True)
    with contextlib.closing(Database.open(books, clock)) as database:
        done = database.write_sync(partial(forgetting, name=account, at_ms=clock.now_ms()))
    present(
        done,
        f"{done['account_id']}: {done['rows']} rows and {done['facts']} facts lost what was written there",
        f"{done['artifacts']} artifacts are nobody's any more, and go",
        as_json=as_json,
    )
