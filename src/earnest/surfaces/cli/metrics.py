"""`earnest metrics`: the five metrics of agents in a period."""

from typing import TYPE_CHECKING, Any, Final

import click

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import as_option, one_json_option
from earnest.surfaces.cli.printing import say, say_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from earnest.client.payloads_platform import AgentMetrics, ApprovalTime

_LINE: Final = "{:<20} {:>10} {:>8} {:>16} {:>17} {:>17} {:>7}"


@click.command()
@click.option("--period", metavar="NAME", default="current", show_default=True, help="A period, by name or id.")
@as_option
@one_json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a line for each agent.")
def metrics(*, period: str, as_: str, as_json: bool, as_csv: bool) -> None:
    """Show how agents do in a period: with an operator's key all of them, else one's own."""
    if as_json and as_csv:
        raise Refused("validation", "choose --json or --csv")
    with client_of(as_) as client:
        if as_csv:
            say(*client.get_metrics_csv(period).splitlines())
            return
        found = client.get_metrics(period)
    if as_json:
        say_json(found)
        return
    span = found["period"]
    say(f"period {span['name']}, from {span['opened_at']} to {span['ended_at'] or 'now'}", "")
    say(_LINE.format("agent", "verified/h", "failed", "ai$", "submit→approve", "create→approve", "thrash"))
    for agent in found["agents"]:
        say(_LINE.format(*_cells(agent)))
    if not found["agents"]:
        say("no agent has done anything in it")


def _cells(agent: "AgentMetrics") -> "Iterator[Any]":
    from earnest.agents.job_files import amount_of  # noqa: PLC0415

    rate, delta = agent["failure_rate"], agent["aid_delta_micro"]
    yield agent["handle"]
    yield "-" if agent["verified_per_hour"] is None else f"{agent['verified_per_hour']:.2f}"
    yield "-" if rate is None else f"{rate:.0%}"
    yield f"{'-' if delta < 0 else '+'}{amount_of(abs(delta))}"
    yield _span(agent["approval_from_submission"])
    yield _span(agent["approval_from_creation"])
    yield f"{agent['thrash_index']:.2f}"


def _span(found: "ApprovalTime") -> str:
    """Median, and in brackets the 90th percentile."""
    return "-" if found["median_s"] is None else f"{found['median_s']} s ({found['p90_s']} s)"
