"""`earnest periods`: the named spans by which behaviour is measured."""

from itertools import islice
from typing import Annotated

import typer

from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import As, Json
from earnest.surfaces.cli.printing import present

app = typer.Typer(help="Periods: named spans in which agents are measured.", no_args_is_help=True)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many.")] = 20,
    as_: As = "",
    as_json: Json = False,
) -> None:
    """List periods, the newest first."""
    from earnest.client import platform  # noqa: PLC0415

    with client_of(as_) as client:
        for one in islice(client.each(platform.list_periods(limit=min(limit, 100))), limit):
            present(one, f"{one['name']:<24}{one['opened_at']}  {one['ended_at'] or 'goes on'}", as_json=as_json)


@app.command("open")
def open_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="1 to 64 of a-z, 0-9 and -; no period has had it.")],
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Begin a period, with an operator's key. The one before is archived; nothing is wiped."""
    with client_of(as_) as client:
        found = client.open_period(name)
    present(found, f"period {found['name']} goes on from fact {found['first_fact']}", as_json=as_json)
