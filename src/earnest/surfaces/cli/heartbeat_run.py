"""`earnest heartbeat run` and `wake`: any program keeps a contract, cycle after cycle."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.app.heartbeating import Running
    from earnest.client.credentials import Credentials
    from earnest.runtime.heartbeats.report import CycleReport
    from earnest.runtime.heartbeats.runner import HeartbeatRunner

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
    """Have a program do what is due, hand in what it answers, and wait for the next time, until SIGINT or SIGTERM.

    Exit codes: 130 stopped. With --once: 0 handed in, or nothing was to do; 1 the program failed; 3 the platform
    did not answer. 3, too, for state that is damaged or in use by another runner.
    """
    from earnest.app.heartbeating import Running  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import credentials_of, data_directory  # noqa: PLC0415

    running = Running(command=command, file=file, timeout_s=timeout, hours=active_hours, zone=zone, passes_key=pass_key)
    if dry_run:
        code = asyncio.run(_rehearse(data_directory(), credentials_of(as_), running, as_json=as_json))
    else:
        code = asyncio.run(_run(data_directory(), credentials_of(as_), running, once=once, as_json=as_json))
    raise typer.Exit(code)


def wake(as_: As = "") -> None:
    """Have the agent's runner on this machine look at once.

    Exit codes: 0 told, 3 none runs.
    """
    from earnest.app.heartbeating import wake as wake_one  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import credentials_of, data_directory  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say  # noqa: PLC0415

    say(f"woke {asyncio.run(wake_one(data_directory(), credentials_of(as_)))}")


async def _run(home: Path, credentials: "Credentials", running: "Running", *, once: bool, as_json: bool) -> int:
    """The exit code. SIGINT and SIGTERM end the program and the runner; SIGUSR1 wakes it."""
    from earnest.app.heartbeating import opened_runner  # noqa: PLC0415
    from earnest.surfaces.cli.endings import ExitCode  # noqa: PLC0415
    from earnest.surfaces.cli.printing import complain  # noqa: PLC0415

    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    assert me is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, me.cancel)
    loop.add_signal_handler(signal.SIGUSR1, lambda: None)  # a runner that begins looks anyway
    try:
        async with opened_runner(home, credentials, running) as runner:
            loop.add_signal_handler(signal.SIGUSR1, runner.wake)
            if once:
                return await _once(runner, as_json=as_json)
            await runner.run(lambda report: _tell(report, as_json=as_json))
    except asyncio.CancelledError:
        complain(["stopped"])
    return ExitCode.STOPPED


async def _rehearse(home: Path, credentials: "Credentials", running: "Running", *, as_json: bool) -> int:
    from earnest.app.heartbeating import opened_runner  # noqa: PLC0415
    from earnest.effects.ground.process import ProgramFailed  # noqa: PLC0415
    from earnest.surfaces.cli.endings import ExitCode  # noqa: PLC0415
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415

    async with opened_runner(home, credentials, running) as runner:
        try:
            found = await runner.rehearse()
        except ProgramFailed as failed:
            complain([f"the program failed: {failed}"])
            return ExitCode.ABANDON
    if isinstance(found, str):
        say_json({"skipped": found}) if as_json else say(f"nothing would be done: {found}")
        return ExitCode.ACCEPT
    said, tasks = found.said, [task["id"] for task in found.work.tasks]
    if as_json:
        about = {"reply": said.reply, "records": list(said.records), "claims": list(said.claims)}
        say_json({"tasks": tasks, **about, "artifacts": list(found.artifacts), "notes": list(found.notes)})
    else:
        say(f"asked for     {', '.join(tasks)}", f"reply         {said.reply}")
        say(*(f"claim         {claim}" for claim in said.claims), *(f"artifact      {one}" for one in found.artifacts))
        say(*found.notes, "nothing was handed in")
    return ExitCode.ACCEPT


async def _once(runner: "HeartbeatRunner", *, as_json: bool) -> int:
    from earnest.runtime.heartbeats.report import CycleOutcome  # noqa: PLC0415
    from earnest.surfaces.cli.endings import ExitCode  # noqa: PLC0415

    report = runner.held_back() or await runner.cycle()
    _tell(report, as_json=as_json)
    codes = {CycleOutcome.FAILED: ExitCode.ABANDON, CycleOutcome.UNANSWERED: ExitCode.NO_ANSWER}
    return codes.get(report.outcome, ExitCode.ACCEPT)


def _tell(report: "CycleReport", *, as_json: bool) -> None:
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    if as_json:
        say_json(report.to_json())
    else:
        say(*report.lines())
    sys.stdout.flush()
