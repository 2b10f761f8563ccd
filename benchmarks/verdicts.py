"""What does a verdict cost? Prints medians as JSON; before each measurement the pool is given time to fill."""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.clock import SystemClock
from earnest.effects.sandbox.api import SandboxSettings
from earnest.effects.sandbox.available import open_sandbox
from earnest.effects.sandbox.host import read_host
from earnest.effects.sandbox.provider import BubblewrapSandbox
from earnest.foundation.canonical import JsonObject
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer

ROUNDS = 30
BURST = 120
CALLS = 2_000
FULL_WAIT_S = 0.005
SOLUTION = "def double(n):\n    return 2 * n\n"
PROGRAM = "print(3)\n"
UNITTEST = """
import unittest
import solution
class T(unittest.TestCase):
    def test_double(self):
        self.assertEqual(solution.double(2), 4)
"""
PYTEST = """
import pytest
from solution import double
@pytest.mark.parametrize(("n", "wanted"), [(2, 4), (0, 0)])
def test_double(n, wanted):
    assert double(n) == wanted
"""
CALLING = f"""
import sys, time, unittest
from solution import double
class T(unittest.TestCase):
    def test_calls(self):
        double(1)
        start_ns = time.perf_counter_ns()
        for n in range({CALLS}):
            double(n)
        took_us = (time.perf_counter_ns() - start_ns) / 1000 / {CALLS}
        sys.__stdout__.write(f"{{took_us}}\\n")
"""
CASES: JsonObject = {"cases": [{"expected": "3\n"}]}
STDOUT: JsonObject = {"program": ["python3", "program.py"], **CASES}
QUICK: JsonObject = {"program": ["python3", "-I", "-S", "program.py"], **CASES}  # without what a machine adds to Python


class Bench:
    """One verifier over one sandbox, with a submission and a spec's folder on disk."""

    def __init__(self, sandbox: BubblewrapSandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=SystemClock())
        self._work, self._spec = folder / "work", folder / "spec"
        for path, text in (
            (self._work / "solution.py", SOLUTION),
            (self._work / "program.py", PROGRAM),
            (self._spec / "test_unittest.py", UNITTEST),
            (self._spec / "test_pytest.py", PYTEST),
            (self._spec / "test_calling.py", CALLING),
        ):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    async def verdict(self, kind: str, config: JsonObject) -> None:
        criterion = Criterion(id="C1", text="x", check=CheckSpec(kind=kind, config=config))
        verdict = await self._verifier.verify([criterion], self._work, base_folder=self._spec)
        assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason

    async def stdout(self, config: JsonObject = STDOUT) -> None:
        await self.verdict("stdout", config)

    async def unit_tests(self, tests: str) -> None:
        await self.verdict("unit_tests", {"module": "solution", "tests": [tests]})

    async def plain(self) -> None:
        interpreter = str(read_host().interpreter)
        process = await asyncio.create_subprocess_exec(
            interpreter, "program.py", cwd=self._work, stdout=asyncio.subprocess.PIPE
        )
        await process.communicate()

    async def filled(self) -> None:
        """Wait for the pool, as a platform with pauses between its verdicts would find it."""
        while self._sandbox.ready < 1:  # noqa: ASYNC110 - asked from outside
            await asyncio.sleep(FULL_WAIT_S)

    async def timed_ms(self, run: Callable[[], Awaitable[None]]) -> float:
        await self.filled()
        start_ns = time.perf_counter_ns()
        await run()
        return (time.perf_counter_ns() - start_ns) / 1e6


async def call_us(sandbox: BubblewrapSandbox, bench: Bench) -> float:
    """Of one call over the pipe, as the tests' side measures it."""
    printed: list[float] = []
    run = sandbox.run

    async def listening(execution):  # type: ignore[no-untyped-def]
        report = await run(execution)
        assert report.joined is not None
        printed.append(float(report.joined.stdout))
        return report

    sandbox.run = listening  # type: ignore[method-assign]
    for _ in range(5):
        await bench.filled()
        await bench.unit_tests("test_calling.py")
    sandbox.run = run  # type: ignore[method-assign]
    return statistics.median(printed)


async def main(rounds: int) -> None:
    sandbox = await open_sandbox(SandboxSettings(pool=1), SystemClock())
    assert isinstance(sandbox, BubblewrapSandbox), "this machine has no sandbox"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sandbox, Path(folder))
        runs: dict[str, Callable[[], Awaitable[None]]] = {
            "plain": bench.plain,
            "stdout": bench.stdout,
            "unittest": lambda: bench.unit_tests("test_unittest.py"),
            "pytest": lambda: bench.unit_tests("test_pytest.py"),
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        for name, run in runs.items():
            await run()  # what is loaded and compiled once
            times[name] = []
        for _ in range(rounds):
            for name, run in runs.items():
                times[name].append(await bench.timed_ms(run))
        medians = {name: statistics.median(values) for name, values in times.items()}
        pipe_us = await call_us(sandbox, bench)
        start_ns = time.perf_counter_ns()
        await asyncio.gather(*(bench.stdout(QUICK) for _ in range(BURST)))
        per_s = BURST / ((time.perf_counter_ns() - start_ns) / 1e9)
    await sandbox.close()
    result = {
        "rounds": rounds,
        "plain_ms": round(medians["plain"], 2),
        "stdout_ms": round(medians["stdout"], 2),
        "stdout_ratio": round(medians["stdout"] / medians["plain"], 2),
        "unit_tests_unittest_ms": round(medians["unittest"], 1),
        "unit_tests_pytest_ms": round(medians["pytest"], 1),
        "pipe_call_us": round(pipe_us, 1),
        "verdicts_per_s": round(per_s, 1),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
