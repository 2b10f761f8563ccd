"""`earnest run`: work a playbook or a task in words, and watch it."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

COST_MAX_MICRO = 10**12


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
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Tokens that models may take.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Calls of models.")] = None,
    max_cost: Annotated[int | None, typer.Option(metavar="AMOUNT", parser=_micro, help="Cost, as 0.50.")] = None,
    max_time: Annotated[int | None, typer.Option(metavar="SECONDS", min=1, max=86_400, help="Time.")] = None,
) -> None:
    """Work a playbook, or a task in words, under contract.

    Exit codes: 0 accepted, 2 delivered with unmet criteria, 1 abandoned, 3 bad input or usage. Ctrl+C ends the run and
    keeps what was done. An interrupted run of the same task is continued, unless --new is given. The bounds are for tasks
    in words: a playbook asks no model and states its own time.
    """
    import asyncio  # noqa: PLC0415

    from earnest.runtime.order import Grants  # noqa: PLC0415
    from earnest.surfaces.cli.task import Bounds, Request, exit_code_of, print_result, work  # noqa: PLC0415

    if (task is None) == (resume is None):
        raise typer.BadParameter("give either a TASK or --resume RUN")
    bounds = Bounds(tokens=max_tokens, model_calls=max_calls, cost_micro=max_cost, time_s=max_time)
    if bounds != Bounds() and not isinstance(_task(task), str):
        raise typer.BadParameter("--max-tokens, --max-calls, --max-cost and --max-time are for a task in words")
    request = Request(
        task=_task(task),
        resume=resume,
        new=new,
        live=not (as_json or quiet),
        grants=Grants(
            write=tuple(path.absolute() for path in allow_write or ()), network=allow_network, approved=tuple(yes or ())
        ),
        bounds=bounds,
    )
    run_id, folder, result = asyncio.run(work(request))
    print_result(run_id, folder, result, as_json=as_json)
    raise typer.Exit(exit_code_of(result))


def _task(text: str | None) -> Path | str | None:
    """What ends in .yaml or .yml, or holds a slash and no blank, is a path; anything else is words."""
    if text is None:
        return None
    is_path = text.endswith((".yaml", ".yml")) or ("/" in text and not any(map(str.isspace, text)))
    return Path(text) if is_path else text
