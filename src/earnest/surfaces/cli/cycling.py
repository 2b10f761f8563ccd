"""What `earnest agent` and `earnest heartbeat run` do until they are stopped: cycle after cycle, each told."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from earnest.app.heartbeating import Running, opened_runner
from earnest.app.residing import Residing, opened_resident
from earnest.client.credentials import Credentials
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.process import ProgramFailed
from earnest.runtime.agents.resident import ResidentOutcome, ResidentReport
from earnest.runtime.heartbeats.runner import CycleOutcome
from earnest.runtime.heartbeats.runner import CycleReport as HeartbeatReport
from earnest.surfaces.cli.endings import ExitCode
from earnest.surfaces.cli.printing import complain, present, say, say_json

_AGENT_CODES: Final = {ResidentOutcome.FAILED: ExitCode.ABANDON, ResidentOutcome.UNANSWERED: ExitCode.NO_ANSWER}
_HEARTBEAT_CODES: Final = {CycleOutcome.FAILED: ExitCode.ABANDON, CycleOutcome.UNANSWERED: ExitCode.NO_ANSWER}
RENEWED: Final = "EARNEST_AGENT_RENEWED"
"""The instant of the next look (ms), told to the process that an idle one becomes."""
IDLE_BYTES_MAX: Final = 60_000_000
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
PROC: Final = Path("/proc/self/statm")


async def run_agent(residing: Residing, *, once: bool, as_json: bool) -> int:
    """The exit code. SIGINT and SIGTERM end the program and the agent; SIGUSR1 wakes it.

    An idle agent that holds much memory becomes a new process of the same id and arguments.
    """
    tell = partial(_tell, as_json=as_json)
    next_ms: int | None = None
    with _until_stopped() as on_wake:
        async with opened_resident(residing) as (resident, heartbeats):
            on_wake(resident.wake)
            if once:
                report = await resident.cycle()
                tell(report)
                return _AGENT_CODES.get(report.outcome, ExitCode.ACCEPT)
            async with asyncio.TaskGroup() as beside:
                beating = beside.create_task(heartbeats.run(tell)) if heartbeats else None
                looks_ms = await resident.run(tell, lambda: _is_large() and (not heartbeats or heartbeats.is_waiting))
                if beating is not None:
                    beating.cancel()
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # what comes now is the new process's
            await SystemClock().sleep_ms(10)  # what came before ends this one
        next_ms = looks_ms
    if next_ms is not None:
        _begin_anew(next_ms)
    return ExitCode.STOPPED


async def run_heartbeat(home: Path, credentials: Credentials, running: Running, *, once: bool, as_json: bool) -> int:
    """The exit code. SIGINT and SIGTERM end the program and the runner; SIGUSR1 wakes it."""
    with _until_stopped() as on_wake:
        on_wake(lambda: None)  # a runner that begins looks anyway
        async with opened_runner(home, credentials, running) as runner:
            on_wake(runner.wake)
            if once:
                report = runner.held_back() or await runner.cycle()
                _tell(report, as_json=as_json)
                return _HEARTBEAT_CODES.get(report.outcome, ExitCode.ACCEPT)
            await runner.run(partial(_tell, as_json=as_json))
    return ExitCode.STOPPED


async def rehearse_heartbeat(home: Path, credentials: Credentials, running: Running, *, as_json: bool) -> int:
    """The exit code of one cycle of which nothing is handed in."""
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


@contextlib.contextmanager
def _until_stopped() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Until SIGINT or SIGTERM, which is told. It yields a function that says what SIGUSR1 does."""
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    assert me is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, me.cancel)

    def on_wake(wake: Callable[[], None]) -> None:
        loop.add_signal_handler(signal.SIGUSR1, wake)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    try:
        yield on_wake
    except asyncio.CancelledError:
        complain(["stopped"])


def _begin_anew(next_ms: int) -> None:
    environment = {**os.environ, RENEWED: str(next_ms)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606 - no shell is meant


def _is_large() -> bool:
    """Where the system does not tell, no."""
    with contextlib.suppress(OSError):
        return int(PROC.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > IDLE_BYTES_MAX
    return False


def _tell(report: ResidentReport | HeartbeatReport, *, as_json: bool) -> None:
    present(report.to_json(), *report.lines(), as_json=as_json)
    sys.stdout.flush()
