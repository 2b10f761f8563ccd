"""What a sandboxed start costs beside a plain one, and one with an environment. Prints medians as JSON.

Every round runs each kind once.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionReport,
    ExecutionStatus,
    Profile,
    Sandbox,
    SandboxSettings,
)
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.equipped import Equipment, equipped
from earnest.effects.hands.sandbox.host import read_host
from earnest.effects.hands.sandbox.provider import BubblewrapSandbox

ROUNDS = 50
COMMANDS = {"pass": ("-I", "-c", "pass"), "pass_without_site": ("-I", "-S", "-c", "pass")}
FULL_WAIT_S = 0.005


async def plain(interpreter: str, arguments: tuple[str, ...]) -> None:
    process = await asyncio.create_subprocess_exec(
        interpreter,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await process.communicate()
    assert process.returncode == 0


async def boxed(sandbox: Sandbox, interpreter: str, arguments: tuple[str, ...]) -> None:
    report: ExecutionReport = await sandbox.run(Execution(profile=Profile.VERIFY, argv=(interpreter, *arguments)))
    assert (report.status, report.exit_code) == (ExecutionStatus.DONE, 0), report


def with_environment(sandbox: Sandbox, folder: str) -> Sandbox:
    return equipped(sandbox, Equipment(name="bench", folder=Path(folder), is_built=True))


async def filled(sandbox: Sandbox) -> None:
    """Wait for the pool, as a platform with pauses between its runs would find it."""
    assert isinstance(sandbox, BubblewrapSandbox)
    while sandbox.ready < 1:  # noqa: ASYNC110 - asked from outside
        await asyncio.sleep(FULL_WAIT_S)


async def timed(run: Awaitable[object]) -> float:
    start_ns = time.perf_counter_ns()
    await run
    return (time.perf_counter_ns() - start_ns) / 1e6


async def main(rounds: int, folder: str) -> None:
    interpreter = str(read_host().interpreter)
    opened_ns = time.perf_counter_ns()
    warm = await open_sandbox(SandboxSettings(pool=1), SystemClock())
    open_ms = (time.perf_counter_ns() - opened_ns) / 1e6
    cold = await open_sandbox(SandboxSettings(pool=0), SystemClock())
    equipment = with_environment(warm, folder)
    tests = [await timed(warm.self_test()) for _ in range(5)]
    await boxed(cold, interpreter, ("-c", "pass"))
    result: dict[str, object] = {"sandbox": warm.description, "interpreter": interpreter, "rounds": rounds}
    for name, arguments in COMMANDS.items():
        times: dict[str, list[float]] = {"plain": [], "warm": [], "environment": [], "cold": []}
        for _ in range(rounds):
            await filled(warm)
            times["plain"].append(await timed(plain(interpreter, arguments)))
            times["warm"].append(await timed(boxed(warm, interpreter, arguments)))
            await filled(warm)
            times["environment"].append(await timed(boxed(equipment, interpreter, arguments)))
            await filled(warm)
            times["cold"].append(await timed(boxed(cold, interpreter, arguments)))
        medians = {kind: statistics.median(values) for kind, values in times.items()}
        result[name] = {f"{kind}_ms": round(median, 2) for kind, median in medians.items()} | {
            "warm_ratio": round(medians["warm"] / medians["plain"], 2),
            "cold_ratio": round(medians["cold"] / medians["plain"], 2),
        }
    result |= {"open_ms": round(open_ms, 1), "self_test_ms": round(statistics.median(tests), 1)}
    print(json.dumps(result, indent=2))
    await warm.close()
    await cold.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as shown:
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS, shown))
