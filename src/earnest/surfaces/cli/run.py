"""`earnest run`: work a playbook and watch it."""

from pathlib import Path
from typing import Annotated

import typer


def run(  # noqa: PLR0917 - typer calls it by name
    playbook: Annotated[str | None, typer.Argument(metavar="PLAYBOOK", help="A playbook (.yaml or .yml).")] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with this interrupted run.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Start anew even if this playbook was interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")] = False,
    allow_write: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Let steps that ask for it write below PATH, outside the workspace."),
    ] = None,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let steps that ask for it use the network.")
    ] = False,
) -> None:
    """Work a playbook under contract.

    Exit codes: 0 accepted, 2 delivered with unmet criteria, 1 abandoned, 3 bad input or usage. Ctrl+C ends the run and
    keeps what was done. An interrupted run of the same playbook is continued, unless --new is given.
    """
    import asyncio  # noqa: PLC0415

    from earnest.surfaces.cli.task import Request, exit_code_of, print_result, work  # noqa: PLC0415

    request = Request(
        playbook=_path_of(playbook, resume),
        resume=resume,
        new=new,
        live=not (as_json or quiet),
        write=tuple(path.absolute() for path in allow_write or ()),
        network=allow_network,
    )
    run_id, folder, result = asyncio.run(work(request))
    print_result(run_id, folder, result, as_json=as_json)
    raise typer.Exit(exit_code_of(result))


def _path_of(playbook: str | None, resume: str | None) -> Path | None:
    """What ends in .yaml or .yml or holds a slash is a path, never a request in words."""
    if (playbook is None) == (resume is None):
        raise typer.BadParameter("give either a PLAYBOOK or --resume RUN")
    if playbook is None:
        return None
    if playbook.endswith((".yaml", ".yml")) or "/" in playbook:
        return Path(playbook)
    raise typer.BadParameter(
        f"{playbook!r} is no path to a playbook: a path ends in .yaml or .yml or holds a slash. "
        "Requests in words need a model, which this version does not use yet."
    )
