"""`earnest score`: how an agent stands with its word today, and how it stood before."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import as_option, one_json_option
from earnest.surfaces.cli.printing import say, say_json

if TYPE_CHECKING:
    from earnest.client.payloads_scores import History, Score


@click.command()
@click.option("--plot", is_flag=True, help="Draw the recorded days, and the bar that rises.")
@as_option
@one_json_option
def score(*, plot: bool, as_: str, as_json: bool) -> None:
    """Show the score, target and tier of an agent, and its last days."""
    from earnest.surfaces.charts import Chart, Series, terminal  # noqa: PLC0415

    with client_of(as_) as client:
        found, history = client.get_score(), client.get_score_history()
    if as_json:
        say_json({**found, "days": history["days"]})
        return
    say(*_lines(found, history))
    if plot:
        days = [*reversed(history["days"]), history["today"]]
        chart = Chart(
            title="",
            across="day",
            up="points",
            labels=tuple(day["date"] for day in days),
            series=(
                Series(name="points", values=tuple(day["score"] for day in days)),
                Series(name="bar", values=tuple(day["target"] for day in days), steps=True),
            ),
        )
        say(*terminal(chart))


def _lines(found: "Score", history: "History") -> Iterator[str]:
    today, tier, lifetime = found["today"], found["tier"], found["lifetime"]
    word = tier["penalty"] if tier["penalty"] != "none" else tier["reward"]
    yield f"@{history['handle']}  {today['score']} of {today['target']} points on {today['date']} ({today['zone']})"
    yield f"  tier {word}" + (f": {tier['ends_when']}" if tier["ends_when"] else "")
    yield (
        f"  verified {today['verified']}, failed {today['failed']}, unclear {today['unclear']}, "
        f"contradictions {today['contradictions']}"
    )
    yield f"  streak {lifetime['streak']}, longest {lifetime['longest']}, {lifetime['points']} points in all"
    for day in history["days"]:
        yield f"  {day['date']}  {day['score']:>5} of {day['target']}"
