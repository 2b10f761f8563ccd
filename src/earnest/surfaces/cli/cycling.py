"""What `earnest agent` and `earnest heartbeat run` do until they are stopped: cycle after cycle, each told."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from earnest.app.heartbeating import Running, opened_runner
from earnest.app.residing import Residing, opened_resident
from earnest.client.credentials import Credentials
from earnest.effects.ground.process import ProgramFailed
from earnest.runtime.agents.resident import ResidentOutcome, ResidentReport
from earnest.runtime.heartbeats.report import CycleOutcome
from earnest.runtime.heartbeats.report import CycleReport as HeartbeatReport
from earnest.surfaces.cli.endings import ExitCode
from earnest.surfaces.cli.printing import complain, say, say_json

_AGENT_CODES: Final = {ResidentOutcome.FAILED: ExitCode.ABANDON, ResidentOutcome.UNANSWERED: ExitCode.NO_ANSWER}
_HEARTBEAT_CODES: Final = {CycleOutcome.FAILED: ExitCode.ABANDON, CycleOutcome.UNANSWERED: ExitCode.NO_ANSWER}


async def run_agent(residing: Residing, *, once: bool, as_json: bool) -> int:
    """The exit code. SIGINT and SIGTERM end the program and the agent; SIGUSR1 wakes it."""

    def tell(report: ResidentReport | HeartbeatReport) -> None:
        _tell(report, as_json=as_json)

    with _until_stopped() as on_wake:
        async with opened_resident(residing) as (resident, heartbeats):
            on_wake(resident.wake)
            if once:
                report = await resident.cycle()
                tell(report)
                return _AGENT_CODES.get(report.outcome, ExitCode.ACCEPT)
            async with asyncio.TaskGroup() as both:
                both.create_task(resident.run(tell))
                if heartbeats is not None:
                    both.create_task(heartbeats.run(tell))
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
            await runner.run(lambda report: _tell(report, as_json=as_json))
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
    try:
        yield lambda wake: loop.add_signal_handler(signal.SIGUSR1, wake)
    except asyncio.CancelledError:
        complain(["stopped"])


def _tell(report: ResidentReport | HeartbeatReport, *, as_json: bool) -> None:
    if as_json:
        say_json(report.to_json())
    else:
        say(*report.lines())
    sys.stdout.flush()
