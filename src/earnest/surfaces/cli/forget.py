"""`earnest forget`: what is personal of an account goes."""

import contextlib
from functools import partial
from pathlib import Path

import click

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.here import home_and_books
from earnest.surfaces.cli.options import home_option, one_json_option
from earnest.surfaces.cli.printing import present


@click.command()
@click.argument("account", help="The account, by its handle or id.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@one_json_option
def forget(*, account: str, yes: bool, home: Path | None, as_json: bool) -> None:
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
        click.confirm(f"Forget {account} for good?", abort=True)
    with contextlib.closing(Database.open(books, clock)) as database:
        done = database.write_sync(partial(forgetting, name=account, at_ms=clock.now_ms()))
    present(
        done,
        f"{done['account_id']}: {done['rows']} rows and {done['facts']} facts lost what was written there",
        f"{done['artifacts']} artifacts are nobody's any more, and go",
        as_json=as_json,
    )
