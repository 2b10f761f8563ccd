"""`earnest simulate` and `earnest recompute`: the books in a made-up year, and those of a data directory."""

from dataclasses import asdict

import click

from earnest.surfaces.cli.here import finish, read_books
from earnest.surfaces.cli.options import Whole, one_json_option
from earnest.surfaces.cli.printing import present, tell


@click.command()
@click.option("--days", type=Whole(1, 4000), default=400, show_default=True, help="Days of the market's time.")
@click.option(
    "--agents", type=Whole(3, 1000), default=60, show_default=True, help="Who takes part; a third of them buy."
)
@click.option("--jobs", type=Whole(1, 100_000), default=5_200, show_default=True, help="How many jobs are posted.")
@click.option("--seed", type=Whole(0), default=1, show_default=True, help="The same seed is the same simulation.")
@one_json_option
def simulate(*, days: int, agents: int, jobs: int, seed: int, as_json: bool) -> None:
    """Simulate a market of agents that vanish, cheat, quarrel and retry; check all rules."""
    from earnest.app.simulating import simulated  # noqa: PLC0415
    from earnest.runtime.simulation.story import SimulationPlan  # noqa: PLC0415

    plan = SimulationPlan(days=days, agents=agents, jobs=jobs, seed=seed)
    found = finish(simulated(plan, lambda day: tell(f"day {day} of {days}")))
    happened = dict(sorted(found.happened.items()))
    present(
        {"happened": happened, "facts": found.facts, "wrongs": found.wrongs},
        *(f"{count:>8}  {word}" for word, count in happened.items()),
        f"{found.facts:>8}  facts",
        *found.wrongs,
        f"{len(found.wrongs)} wrongs" if found.wrongs else "nothing is wrong",
        as_json=as_json,
    )
    raise click.exceptions.Exit(1 if found.wrongs else 0)


@click.command()
@one_json_option
def recompute(*, as_json: bool) -> None:
    """Rebuild every table from the facts, and compare."""
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.runtime.recompute import recompute as made_anew  # noqa: PLC0415

    found = read_books(lambda reader: made_anew(reader, SystemClock(), lambda count: tell(f"{count} facts read")))
    present(
        asdict(found),
        *found.differences,
        f"{found.rows} rows from {found.facts} facts; {len(found.differences)} differ",
        as_json=as_json,
    )
    raise click.exceptions.Exit(1 if found.differences else 0)
