"""How many verdicts a second do one worker and two give, over one database of PostgreSQL? Prints one JSON object.

Programs are judged that rest for a second, as those do that wait for a disk or their limits: each worker has four under
way, whatever the cores. One that computes takes a core alone, and a second worker needs cores of its own.
"""

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobs import JOB, LOOK_S, Asking

from earnest.testing.served import PROGRAM, served

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import postgresql

COUNT, ROUNDS = 24, 3
ONLY_SERVES = (*PROGRAM[:2], f"import sys; sys.argv.append('--no-work'); {PROGRAM[2]}")
RESTING = {
    **JOB,
    "category": "code-generation",
    "criteria": [
        {
            "id": "C1",
            "text": "it prints 42",
            "check": {"kind": "stdout", "program": ["python3", "answer.py"], "cases": [{"expected": "42\n"}]},
        }
    ],
    "evidence_requirements": [{"id": "answer", "kind": "text", "path": "answer.py"}],
}
WORK = {"items": [{"requirement_id": "answer", "kind": "text", "inline": "import time; time.sleep(1); print(42)\n"}]}


@contextlib.contextmanager
def _workers(count: int, home: Path, environment: Mapping[str, str]) -> Iterator[None]:
    command = [*PROGRAM, "worker", "--kinds", "verify", "--json", "--home", str(home)]
    begun = [subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(environment)) for _ in range(count)]
    try:
        for one in begun:
            assert one.stdout is not None
            assert one.stdout.readline(), "it did not begin"
        yield
    finally:
        for one in begun:
            one.terminate()
        for one in begun:
            one.communicate(timeout=60)


async def _round(pairs: list[tuple[Asking, Asking]]) -> float:
    """Verdicts a second, of what is handed in at once."""

    async def claimed(buyer: Asking, seller: Asking) -> str:
        job = await buyer.ask("POST", "/jobs", RESTING)
        return str((await seller.ask("POST", f"/jobs/{job['job_id']}/claim"))["claim_id"])

    async def judged(seller: Asking, claim: str) -> None:
        await seller.ask("POST", f"/claims/{claim}/evidence", WORK)
        while True:
            await asyncio.sleep(LOOK_S)
            if (await seller.ask("GET", f"/claims/{claim}"))["state"] == "released":
                return

    claims = [await claimed(*pair) for pair in pairs]
    start = time.perf_counter()
    await asyncio.gather(*(judged(seller, claim) for (_, seller), claim in zip(pairs, claims, strict=True)))
    return len(claims) / (time.perf_counter() - start)


async def measure(folder: Path) -> dict[str, float]:
    """Medians of rounds in turns, and of the ratio of those beside each other."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    rounds: list[list[float]] = []
    with postgresql.server() as server, postgresql.database(server) as address:
        there, home = {**environment, "EARNEST_DATABASE": address}, folder / "home"
        with served(home, there, program=ONLY_SERVES) as platform:
            platform.become_operator()
            buyer = platform.agent("buyer", usd_micro=10**12)["live"]
            sellers = [platform.agent(f"seller{at}")["live"] for at in range(COUNT)]
            for _ in range(ROUNDS):
                rounds.append([])
                for count in (1, 2):
                    pairs = [
                        (await Asking(platform, buyer).connect(), await Asking(platform, seller).connect())
                        for seller in sellers
                    ]
                    with _workers(count, home, there):
                        rounds[-1].append(await _round(pairs))
    one, two = (round(statistics.median(side), 2) for side in zip(*rounds, strict=True))
    ratio = statistics.median(two / one for one, two in rounds)
    return {"one_per_s": one, "two_per_s": two, "ratio": round(ratio, 2)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="earnest-bench-") as name:
        print(json.dumps(asyncio.run(measure(Path(name))), indent=1))
