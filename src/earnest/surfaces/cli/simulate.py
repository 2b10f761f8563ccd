"""`earnest simulate` and `earnest recompute`: the books in a made-up year, and those of a data directory."""

from typing import Annotated

import typer


def simulate(
    days: Annotated[int, typer.Option(min=1, max=4000, help="Days of the market's time.")] = 400,
    agents: Annotated[int, typer.Option(min=3, max=1000, help="Who takes part; a third of them buy.")] = 60,
    jobs: Annotated[int, typer.Option(min=1, max=100_000, help="How many jobs are posted.")] = 5_200,
    seed: Annotated[int, typer.Option(min=0, help="The same seed is the same simulation.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate a market of agents that vanish, cheat, quarrel and retry; check all rules."""
    import asyncio  # noqa: PLC0415

    from earnest.app.simulating import simulated  # noqa: PLC0415
    from earnest.runtime.simulation.story import SimulationPlan  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json, tell  # noqa: PLC0415

    plan = SimulationPlan(days=days, agents=agents, jobs=jobs, seed=seed)
    found = asyncio.run(simulated(plan, lambda day: tell(f"day {day} of {days}")))
    happened = dict(sorted(found.happened.items()))
    if as_json:
        say_json({"happened": happened, "facts": found.facts, "wrongs": list(found.wrongs)})
    else:
        say(*(f"{count:>8}  {word}" for word, count in happened.items()), f"{found.facts:>8}  facts")
        say(*found.wrongs, "nothing is wrong" if not found.wrongs else f"{len(found.wrongs)} wrongs")
    if found.wrongs:
        raise typer.Exit(1)


def recompute(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Rebuild every table from the facts, and compare."""
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.runtime.recompute import recompute as made_anew  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json, tell  # noqa: PLC0415

    with reading_books(read_settings()) as books:
        found = books.read_sync(
            lambda reader: made_anew(reader, SystemClock(), lambda count: tell(f"{count} facts read"))
        )
    if as_json:
        say_json({"facts": found.facts, "rows": found.rows, "differences": list(found.differences)})
    else:
        say(*found.differences, f"{found.rows} rows from {found.facts} facts; {len(found.differences)} differ")
    if found.differences:
        raise typer.Exit(1)
