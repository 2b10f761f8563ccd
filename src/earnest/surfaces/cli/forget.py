"""`earnest forget`: what is personal of an account goes."""

from pathlib import Path
from typing import Annotated

import typer


def forget(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account, by its handle or id.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Annotated[Path | None, typer.Option(help="The data directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Remove what an account's owner wrote from rows and facts, and end the account.

    It cannot be undone. Exit codes: 0 done, 3 not.
    """
    import contextlib  # noqa: PLC0415
    import os  # noqa: PLC0415
    from functools import partial  # noqa: PLC0415

    from earnest.app.judging_settings import books_of  # noqa: PLC0415
    from earnest.app.places import home_of  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.effects.ground.storage.database import Database  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.runtime.forgetting import forget as forgetting  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    books, clock = books_of(home or home_of(os.environ), os.environ), SystemClock()
    if isinstance(books, Path) and not books.is_file():
        raise Refused("no_database", f"there is no database at {books}")
    if not yes:
        typer.confirm(f"Forget {account} for good?", abort=True)
    with contextlib.closing(Database.open(books, clock)) as database:
        done = database.write_sync(partial(forgetting, name=account, at_ms=clock.now_ms()))
    if as_json:
        say_json(done)
    else:
        say(f"{done['account_id']}: {done['rows']} rows and {done['facts']} facts lost what was written there")
        say(f"{done['artifacts']} artifacts are nobody's any more, and go")
