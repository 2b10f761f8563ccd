"""`earnest resume`: go on with a run that waits, and say what became of an effect that nobody can tell of."""

from typing import Annotated

import typer

from earnest.surfaces.cli.run import AwaitLeave, Json, Quiet


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, as it was told.")],
    effect: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="What became of the unknown effect: happened, absent or give-up."),
    ] = None,
    await_leave: AwaitLeave = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a waiting run, or tell an untold end.

    Exit codes: as for `earnest run`. Where a crash left open whether an effect happened and no `look` can tell, a
    terminal asks; without one the run waits for --effect.
    """
    from earnest.surfaces.cli.opening import open_with  # noqa: PLC0415

    if effect is None and not (as_json or quiet):
        open_with(run, {})

    from earnest.runtime.unknown_effects import EffectDecision  # noqa: PLC0415
    from earnest.surfaces.cli.run import work  # noqa: PLC0415
    from earnest.surfaces.cli.task import TaskRequest  # noqa: PLC0415

    decisions = [decision.value for decision in EffectDecision]
    if effect is not None and effect not in decisions:
        raise typer.BadParameter(f"--effect is one of {', '.join(decisions)}, not {effect!r}")
    request = TaskRequest(
        task=None,
        resume=run,
        live=not (as_json or quiet),
        awaits_leave=await_leave,
        effect=None if effect is None else EffectDecision(effect),
    )
    work(request, None, as_json=as_json)
