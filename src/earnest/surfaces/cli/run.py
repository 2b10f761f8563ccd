"""`earnest run`: work a playbook or a task in words, and watch it."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from earnest.surfaces.cli.printing import complain

COST_MAX_MICRO = 10**12
PLAYBOOK_SUFFIXES = (".yaml", ".yml")


def _micro(text: str) -> int:
    """Millionths of an amount such as `0.50`."""
    try:
        amount = Decimal(text) * 10**6
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or not 0 <= amount <= COST_MAX_MICRO or amount != int(amount):
        raise typer.BadParameter(f"{text!r} is no amount from 0 to {COST_MAX_MICRO // 10**6} with at most 6 decimals")
    return int(amount)


def run(  # noqa: PLR0917 - typer calls it by name
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="A playbook (.yaml or .yml), or what is to be done, in words.")
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with this interrupted run.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Start anew even if this task was interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")] = False,
    allow_write: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Let steps that ask for it write below PATH, outside the workspace."),
    ] = None,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let steps that ask for it use the network.")
    ] = False,
    yes: Annotated[
        list[str] | None, typer.Option(metavar="ACTION", help="Say yes beforehand to exactly this action, once.")
    ] = None,
    read: Annotated[
        list[Path] | None,
        typer.Option("--input", metavar="PATH", help="Show this file or folder, read-only, to a task in words."),
    ] = None,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Make a plan, print it, do nothing of it.")] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="PLAYBOOK", help="Save the accepted run as a playbook that needs no model.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Tokens that models may take.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Calls of models.")] = None,
    max_cost: Annotated[int | None, typer.Option(metavar="AMOUNT", parser=_micro, help="Cost, as 0.50.")] = None,
    max_time: Annotated[int | None, typer.Option(metavar="SECONDS", min=1, max=86_400, help="Time.")] = None,
) -> None:
    """Work a playbook, or a task in words, under contract.

    Exit codes: 0 accepted, 2 delivered with unmet criteria, 1 abandoned, 3 bad input or usage. Ctrl+C ends the run and
    keeps what was done. An interrupted run of the same task is continued, unless --new is given. Inputs and bounds are
    for tasks in words: a playbook asks no model and states its own.
    """
    import asyncio  # noqa: PLC0415

    from earnest.runtime.order import Grants  # noqa: PLC0415
    from earnest.surfaces.cli import task as tasks  # noqa: PLC0415

    if (task is None) == (resume is None):
        raise typer.BadParameter("give either a TASK or --resume RUN")
    what = _task(task)
    bounds = tasks.Bounds(tokens=max_tokens, model_calls=max_calls, cost_micro=max_cost, time_s=max_time)
    if not isinstance(what, str) and (bounds != tasks.Bounds() or read):
        raise typer.BadParameter("--input, --max-tokens, --max-calls, --max-cost, --max-time are for a task in words")
    if plan_only and (resume or save):
        raise typer.BadParameter("--plan-only does nothing that could be resumed or saved")
    if save is not None:
        _check_target(save, what)
    request = tasks.Request(
        task=what,
        resume=resume,
        new=new,
        live=not (as_json or quiet),
        grants=Grants(
            write=tuple(path.absolute() for path in allow_write or ()), network=allow_network, approved=tuple(yes or ())
        ),
        bounds=bounds,
        inputs=_inputs(read or ()),
        plan_only=plan_only,
    )
    worked = asyncio.run(tasks.work(request))
    if plan_only and worked.plan is not None:
        tasks.print_plan(worked, worked.plan, as_json=as_json)
        return
    tasks.print_result(worked, as_json=as_json, output=isinstance(what, str))
    code = tasks.exit_code_of(worked.result)
    if save is not None and code:
        complain(["the run is not saved: only one that was accepted can be repeated"])
    elif save is not None:
        from earnest.surfaces.cli.saving import save_run  # noqa: PLC0415

        complain(save_run(worked, request.inputs, save))
    raise typer.Exit(code)


def _check_target(playbook: Path, task: Path | str | None) -> None:
    if isinstance(task, Path):
        raise typer.BadParameter("--save is for a task in words: a playbook is one already")
    if playbook.suffix not in PLAYBOOK_SUFFIXES:
        raise typer.BadParameter(f"a playbook's name ends in .yaml or .yml, {playbook} does not")
    if playbook.exists() or not playbook.parent.is_dir():
        raise typer.BadParameter(f"{playbook} {'is there already' if playbook.exists() else 'has no folder to be in'}")


def _inputs(paths: Sequence[Path]) -> dict[str, Path]:
    """What is shown, by its name in the workspace."""
    from earnest.contracts.playbook import INPUTS_MAX  # noqa: PLC0415

    inputs: dict[str, Path] = {}
    for path in paths:
        place = path.resolve()
        if not place.exists() or not place.name.isprintable() or not place.name or place.name in inputs:
            problem = "two inputs have this name" if place.name in inputs else "there is no such file or folder"
            raise typer.BadParameter(f"--input {path}: {problem}")
        inputs[place.name] = place
    if len(inputs) > INPUTS_MAX:
        raise typer.BadParameter(f"at most {INPUTS_MAX} inputs")
    return inputs


def _task(text: str | None) -> Path | str | None:
    """What ends in .yaml or .yml, or holds a slash and no blank, is a path; anything else is words."""
    if text is None:
        return None
    is_path = text.endswith(PLAYBOOK_SUFFIXES) or ("/" in text and not any(map(str.isspace, text)))
    return Path(text) if is_path else text
