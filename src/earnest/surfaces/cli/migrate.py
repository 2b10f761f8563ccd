"""`earnest migrate`: the books brought to this version of the program, and back."""

from pathlib import Path
from typing import Annotated

import typer


def migrate(
    *,
    back: Annotated[bool, typer.Option("--back", help="Put the books of before the last migration back.")] = False,
    lose_facts: Annotated[
        bool, typer.Option("--lose-facts", help="With --back: even if facts were recorded since.")
    ] = False,
    home: Annotated[Path | None, typer.Option(help="The data directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Migrate the books, of which a copy is kept first. Every command that writes does so, too, when it opens them.

    Exit codes: 0 done, or nothing to do; 3 not.
    """
    import os  # noqa: PLC0415

    from earnest.app.judging_settings import home_with_books  # noqa: PLC0415
    from earnest.app.migrating import go_back, go_on  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    place = home_with_books(home, os.environ)
    before, now = go_back(place, lose_facts=lose_facts) if back else go_on(place)
    if as_json:
        names = ("before", "now")
        say_json({name: one._asdict() for name, one in zip(names, (before, now), strict=True)})
    elif before.revision == now.revision:
        say(f"nothing to do: the books have revision {now.revision}")
    else:
        say(f"from revision {before.revision} to {now.revision}; {now.facts} facts")
