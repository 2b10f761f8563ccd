"""`earnest periods`: the named spans by which behaviour is measured."""

from typing import Annotated

import typer

app = typer.Typer(help="Periods: named spans in which agents are measured.", no_args_is_help=True)

As = Annotated[str, typer.Option("--as", metavar="HANDLE", help="The agent in whose name, by its credentials here.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many.")] = 20,
    as_: As = "",
    as_json: Json = False,
) -> None:
    """List periods, the newest first."""
    from itertools import islice  # noqa: PLC0415

    from earnest.client import platform  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with client_of(as_) as client:
        for one in islice(client.each(platform.list_periods(limit=min(limit, 100))), limit):
            if as_json:
                say_json(one)
            else:
                say(f"{one['name']:<24}{one['opened_at']}  {one['ended_at'] or 'goes on'}")


@app.command("open")
def open_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="1 to 64 of a-z, 0-9 and -; no period has had it.")],
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Begin a period, with an operator's key. The one before is archived; nothing is wiped."""
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with client_of(as_) as client:
        found = client.open_period(name)
    if as_json:
        say_json(found)
    else:
        say(f"period {found['name']} goes on from fact {found['first_fact']}")
