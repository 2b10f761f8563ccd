"""What does a verdict cost? Prints medians as JSON; before each measurement the pool is given time to fill.

`stdout_ratio`: a verdict over the plain run of the same program by the same interpreter; `quick` leaves out what this
machine adds to the start of Python.
`pipe_call_us`: two runs of tests that differ in how often they call a function, one less the other, a call;
`pipe_call_held_us` the same while both sides hold eight lists.
`verdicts_per_s`: verdicts on the quick program, as many at a time as a verifier runs.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.host import read_host
from earnest.effects.hands.sandbox.provider import BubblewrapSandbox
from earnest.foundation.canonical import JsonObject
from earnest.verification.registry import Registry
from earnest.verification.service import PARALLEL_CHECKS, Verifier
from earnest.verification.verdict import Answer

ROUNDS = 30
CALLS_FEW, CALLS_MANY = 1_000, 11_000
AT_ONCE = PARALLEL_CHECKS
BURST = 120
FULL_WAIT_S = 0.005
USUAL: tuple[str, ...] = ()
QUICK = ("-I", "-S")
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
CALLING = """
import unittest
from solution import double
class T(unittest.TestCase):
    def test_calls(self):
        for n in range(%d):
            double(n)
        self.assertEqual(double(2), 4)
"""
HOLDING = """
import unittest
from solution import double, size
class T(unittest.TestCase):
    def test_calls(self):
        held = [[n, n] for n in range(8)]
        self.assertEqual([size(one) for one in held], [2] * 8)
        for n in range(%d):
            double(n)
"""
WORK = {
    "solution.py": "def double(n):\n    return 2 * n\ndef size(items):\n    return len(items)\n",
    "program.py": "print(3)\n",
}
SPEC = {
    "test_unittest.py": UNITTEST,
    "test_pytest.py": PYTEST,
    "test_few.py": CALLING % CALLS_FEW,
    "test_many.py": CALLING % CALLS_MANY,
    "test_few_held.py": HOLDING % CALLS_FEW,
    "test_many_held.py": HOLDING % CALLS_MANY,
}


class Bench:
    """One verifier over one sandbox, with a submission and a spec's folder on disk."""

    def __init__(self, sandbox: BubblewrapSandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=SystemClock())
        self._work, self._spec = folder / "work", folder / "spec"
        for place, texts in ((self._work, WORK), (self._spec, SPEC)):
            place.mkdir()
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8")

    async def _verdict(self, kind: str, config: JsonObject) -> None:
        criterion = Criterion(id="C1", text="x", check=CheckSpec(kind=kind, config=config))
        verdict = await self._verifier.verify([criterion], self._work, base_folder=self._spec)
        assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason

    async def stdout(self, options: tuple[str, ...]) -> None:
        program = ["python3", *options, "program.py"]
        await self._verdict("stdout", {"program": program, "cases": [{"expected": "3\n"}]})

    async def unit_tests(self, name: str) -> None:
        await self._verdict("unit_tests", {"module": "solution", "tests": [f"test_{name}.py"]})

    async def plain(self, options: tuple[str, ...]) -> None:
        process = await asyncio.create_subprocess_exec(
            str(read_host().interpreter), *options, "program.py", cwd=self._work, stdout=asyncio.subprocess.PIPE
        )
        await process.communicate()

    async def medians_ms(self, rounds: int, runs: dict[str, Callable[[], Awaitable[None]]]) -> dict[str, float]:
        """Of each, all of them once a round, after one round for what is loaded and compiled once."""
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds + 1):
            for name, run in runs.items():
                # The pool is as a platform with pauses between its verdicts would find it.
                while self._sandbox.ready < 1:  # noqa: ASYNC110 - asked from outside
                    await asyncio.sleep(FULL_WAIT_S)
                start_ns = time.perf_counter_ns()
                await run()
                times[name].append((time.perf_counter_ns() - start_ns) / 1e6)
        return {name: statistics.median(found[1:]) for name, found in times.items()}

    async def per_s(self) -> float:
        """Throughput, however often the pool is empty."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            async with turns:
                await self.stdout(QUICK)

        start_ns = time.perf_counter_ns()
        await asyncio.gather(*(one() for _ in range(BURST)))
        return BURST / ((time.perf_counter_ns() - start_ns) / 1e9)


async def main(rounds: int) -> None:
    sandbox = await open_sandbox(SandboxSettings(pool=1), SystemClock())
    assert isinstance(sandbox, BubblewrapSandbox), "this machine has no sandbox"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sandbox, Path(folder))
        ms = await bench.medians_ms(
            rounds,
            {
                "plain": lambda: bench.plain(USUAL),
                "stdout": lambda: bench.stdout(USUAL),
                "plain_quick": lambda: bench.plain(QUICK),
                "stdout_quick": lambda: bench.stdout(QUICK),
                "unittest": lambda: bench.unit_tests("unittest"),
                "pytest": lambda: bench.unit_tests("pytest"),
            },
        )
        ms |= await bench.medians_ms(
            max(rounds // 5, 1),
            {name: partial(bench.unit_tests, name) for name in ("few", "many", "few_held", "many_held")},
        )
        per_s = await bench.per_s()
    await sandbox.close()
    result = {
        "rounds": rounds,
        "plain_ms": round(ms["plain"], 2),
        "stdout_ms": round(ms["stdout"], 2),
        "stdout_ratio": round(ms["stdout"] / ms["plain"], 2),
        "plain_quick_ms": round(ms["plain_quick"], 2),
        "stdout_quick_ms": round(ms["stdout_quick"], 2),
        "stdout_quick_ratio": round(ms["stdout_quick"] / ms["plain_quick"], 2),
        "unit_tests_unittest_ms": round(ms["unittest"], 1),
        "unit_tests_pytest_ms": round(ms["pytest"], 1),
        "pipe_call_us": round(1_000 * (ms["many"] - ms["few"]) / (CALLS_MANY - CALLS_FEW), 1),
        "pipe_call_held_us": round(1_000 * (ms["many_held"] - ms["few_held"]) / (CALLS_MANY - CALLS_FEW), 1),
        "verdicts_per_s": round(per_s, 1),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
