"""`earnest simulate` and `earnest recompute`: the books in a made-up year, and those of a data directory."""

from dataclasses import asdict
from typing import Annotated

import typer

from earnest.surfaces.cli.here import finish, read_books
from earnest.surfaces.cli.options import OneJson
from earnest.surfaces.cli.printing import present, tell


def simulate(
    days: Annotated[int, typer.Option(min=1, max=4000, help="Days of the market's time.")] = 400,
    agents: Annotated[int, typer.Option(min=3, max=1000, help="Who takes part; a third of them buy.")] = 60,
    jobs: Annotated[int, typer.Option(min=1, max=100_000, help="How many jobs are posted.")] = 5_200,
    seed: Annotated[int, typer.Option(min=0, help="The same seed is the same simulation.")] = 1,
    as_json: OneJson = False,
) -> None:
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
    raise typer.Exit(1 if found.wrongs else 0)


def recompute(as_json: OneJson = False) -> None:
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
    raise typer.Exit(1 if found.differences else 0)
