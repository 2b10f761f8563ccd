"""`earnest periods`: the named spans by which behaviour is measured."""

from itertools import islice

import click

from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import Group, Whole, as_option, json_option
from earnest.surfaces.cli.printing import present


@click.group(cls=Group)
def periods() -> None:
    """Periods: named spans in which agents are measured."""


@periods.command("list")
@click.option("--limit", type=Whole(1, 1000), metavar="N", default=20, show_default=True, help="How many.")
@as_option
@json_option
def list_(*, limit: int, as_: str, as_json: bool) -> None:
    """List periods, the newest first."""
    from earnest.client import platform  # noqa: PLC0415

    with client_of(as_) as client:
        for one in islice(client.each(platform.list_periods(limit=min(limit, 100))), limit):
            present(one, f"{one['name']:<24}{one['opened_at']}  {one['ended_at'] or 'goes on'}", as_json=as_json)


@periods.command("open")
@click.argument("name", help="1 to 64 of a-z, 0-9 and -; no period has had it.")
@as_option
@json_option
def open_(*, name: str, as_: str, as_json: bool) -> None:
    """Begin a period, with an operator's key. The one before is archived; nothing is wiped."""
    with client_of(as_) as client:
        found = client.open_period(name)
    present(found, f"period {found['name']} goes on from fact {found['first_fact']}", as_json=as_json)
