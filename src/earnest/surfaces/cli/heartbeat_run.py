"""`earnest heartbeat run` and `wake`: any program keeps a contract, cycle after cycle."""

from pathlib import Path
from typing import Annotated

import typer

TIMEOUT_S = 600
As = Annotated[str, typer.Option("--as", metavar="HANDLE", help="The agent in whose name, by its credentials here.")]


def run(
    command: Annotated[str, typer.Option("--exec", metavar="CMD", help="The program that does the work.")],
    *,
    file: Annotated[
        Path, typer.Option("--file", metavar="FILE", help="The contract; HEARTBEAT.md of this folder.")
    ] = Path("HEARTBEAT.md"),
    timeout: Annotated[
        int, typer.Option(metavar="SECONDS", min=1, max=86_400, help="How long a turn may take.")
    ] = TIMEOUT_S,
    active_hours: Annotated[
        str, typer.Option(metavar="HH:MM-HH:MM", help="When the program may run; always by default.")
    ] = "",
    zone: Annotated[str, typer.Option(metavar="ZONE", help="Whose clocks these hours are by (IANA).")] = "UTC",
    once: Annotated[bool, typer.Option("--once", help="One cycle, then end.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="One cycle, of which nothing is handed in: show what would be.")
    ] = False,
    pass_key: Annotated[bool, typer.Option("--pass-key", help="Give the program EARNEST_URL and EARNEST_KEY.")] = False,
    as_: As = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each cycle.")] = False,
) -> None:
    """Have a program do what is due, hand in its answers, and wait for the next time.

    Exit codes: 130 stopped. With --once: 0 handed in, or nothing was to do; 1 the program failed; 3 the platform
    did not answer. 3, too, for state that is damaged or in use by another runner.
    """
    import asyncio  # noqa: PLC0415

    from earnest.app.heartbeating import Running  # noqa: PLC0415
    from earnest.surfaces.cli.cycling import rehearse_heartbeat, run_heartbeat  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import credentials_of, data_directory  # noqa: PLC0415

    running = Running(command=command, file=file, timeout_s=timeout, hours=active_hours, zone=zone, passes_key=pass_key)
    home, credentials = data_directory(), credentials_of(as_)
    if dry_run:
        raise typer.Exit(asyncio.run(rehearse_heartbeat(home, credentials, running, as_json=as_json)))
    raise typer.Exit(asyncio.run(run_heartbeat(home, credentials, running, once=once, as_json=as_json)))


def wake(as_: As = "") -> None:
    """Have the agent's runner on this machine look at once.

    Exit codes: 0 told, 3 none runs.
    """
    import asyncio  # noqa: PLC0415

    from earnest.app.heartbeating import wake as wake_one  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import credentials_of, data_directory  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say  # noqa: PLC0415

    say(f"woke {asyncio.run(wake_one(data_directory(), credentials_of(as_)))}")
