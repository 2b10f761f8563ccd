"""What does a data directory cost after a year? Prints one JSON object.

A real run's facts stand in it again under other runs' names, none of the copies sealed or remembered. `first_run_s`:
`earnest run` of an example in it, the first since; `ratio`: the command that costs most, in CPU of its process, beside
the same over 1,000 facts, once memory and the sealer have caught up; `verify_per_s` and `continue_s`: the journal from
end to end, and on from its last verified head. `python benchmarks/year.py [facts]` asks for another number than a
million.
"""

import asyncio
import contextlib
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from year_home import PLAYBOOK, earnest, grow

from earnest.app import places
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.journal.service import Sealer

FEW, MANY = 1_000, 1_000_000
ROUNDS = 5
COMMANDS = (("runs",), ("show", "run_0"), ("memory", "show"), ("audit", "report"), ("journal", "verify", "--continue"))


def main() -> None:
    """Build both, measure, print."""
    many_facts = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        grow(few, FEW)
        grow(many, many_facts)
        began = time.perf_counter()
        assert earnest(many, "run", str(PLAYBOOK)).returncode == 0
        first_run_s = time.perf_counter() - began
        for home in (few, many):
            assert earnest(home, "memory", "rebuild").returncode == 0
            asyncio.run(_seal(home))
        began = time.perf_counter()
        verified = json.loads(earnest(many, "journal", "verify", "--json").stdout)
        assert verified["intact"]
        verify_per_s = verified["facts"] / (time.perf_counter() - began)
        assert earnest(few, "journal", "verify").returncode == 0
        began = time.perf_counter()
        assert earnest(many, "journal", "verify", "--continue").returncode == 0
        found = {
            "first_run_s": first_run_s,
            "verify_per_s": verify_per_s,
            "continue_s": time.perf_counter() - began,
            "ratio": max(_cost(many, words) / _cost(few, words) for words in COMMANDS),
            "run_ratio": _cost(many, ("run", str(PLAYBOOK))) / _cost(few, ("run", str(PLAYBOOK))),
        }
    print(json.dumps(found))


async def _seal(home: Path) -> None:
    with contextlib.closing(Database.open(places.books(home), SystemClock())) as database:
        await Sealer(database, SystemClock()).seal()


def _cost(home: Path, words: tuple[str, ...]) -> float:
    """Median seconds of CPU that the command's process takes."""
    spent = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = earnest(home, *words)
        assert done.returncode in {0, 3}, done.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
