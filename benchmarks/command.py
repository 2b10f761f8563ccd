"""What does `earnest verify` cost as a command? Prints medians as JSON; plain and judged runs take turns.

`verify_cpu_over_ms`, `verify_wall_over_ms`: the whole process and all that it starts, less the plain run of the same
tests by the same interpreter, with a self-test that is kept. `fifty_ratio`: fifty submissions in one call over fifty
plain runs, wall time; `fifty_cpu_ratio` the same in CPU time.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
FIFTY_ROUNDS = 3
MANY = 50
EARNEST = (sys.executable, "-c", "from earnest.surfaces.cli.main import main; main()")
SPEC = """format: earnest-spec-v1
title: Double
text: Write m.py with double(x).
criteria:
  - {id: tests, text: double works, check: {kind: unit_tests, module: m, tests: [test_m.py]}}
"""
TESTS = """import unittest
from m import double


class T(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(2), 4)
"""


def spent(command: list[str], folder: Path) -> tuple[float, float]:
    """CPU and wall time of a process and of all below it, in seconds. Raises if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    environment = {**os.environ, "EARNEST_HOME": str(folder / "home")}
    subprocess.run(command, check=True, cwd=folder / "work", env=environment, capture_output=True)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Measure, print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir(mode=0o700)
        (folder / "spec.yaml").write_text(SPEC)
        (folder / "test_m.py").write_text(TESTS)
        works = [folder / "work", *(folder / f"work{at}" for at in range(MANY))]
        for work in works:
            work.mkdir()
            (work / "m.py").write_text("def double(x):\n    return x + x\n")
        (folder / "work" / "test_m.py").write_text(TESTS)
        plain = [sys.executable, "-m", "unittest", "-q", "test_m"]
        judge = [*EARNEST, "verify", "--no-keep", str(folder / "spec.yaml")]
        spent([*judge, str(works[1])], folder)  # keeps the self-test
        rounds = [(spent([*judge, str(works[1])], folder), spent(plain, folder)) for _ in range(ROUNDS)]
        cpu, wall = (statistics.median(judged[at] - alone[at] for judged, alone in rounds) for at in (0, 1))
        ratios: list[tuple[float, float]] = []
        for _ in range(FIFTY_ROUNDS):
            judged = spent([*judge, *map(str, works[1:])], folder)
            alone = [spent(plain, folder) for _ in range(MANY)]
            ratios.append((judged[0] / sum(one[0] for one in alone), judged[1] / sum(one[1] for one in alone)))
    told = {
        "verify_cpu_over_ms": round(cpu * 1e3),
        "verify_wall_over_ms": round(wall * 1e3),
        "fifty_ratio": round(statistics.median(ratio[1] for ratio in ratios), 2),
        "fifty_cpu_ratio": round(statistics.median(ratio[0] for ratio in ratios), 2),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
