"""What do model calls cost? CPU and wall time of a chain of 5, and of 32 at once. Standard library only.

`benchmarks/endpoint.py` answers, in a process of its own: whoever is measured asks it once for each call.
"""

import asyncio
import contextlib
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

LATENCY_MS = 20
CHAIN, FAN = 5, 32
ROUNDS_ALONE = 10
SYSTEM = "You answer briefly, truthfully and in the form that is asked for. " * 6
ASKED = "What is it, and why is it so? Say it in one sentence, and leave nothing out. " * 4
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}

Side = Callable[[int], Awaitable[object]]
"""A chain of so many calls, one after another; of 1 for each of those that are made at once."""
Opened = Callable[[str], AbstractAsyncContextManager[Side]]
"""A side that asks the endpoint at this address."""


@contextlib.contextmanager
def endpoint() -> Iterator[str]:
    """The base URL of an endpoint in a process of its own."""
    program = [sys.executable, str(Path(__file__).with_name("endpoint.py")), str(LATENCY_MS)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        process.stdin.close()


async def measured(sides: Mapping[str, Side], rounds: int) -> dict[str, dict[str, float]]:
    """Medians over `rounds`, the sides taking turns: milliseconds of CPU a call, and of wall time the whole."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in sides}
    for round_number in range(rounds + 2):
        for name, side in sides.items():
            for kind, work, calls in (("chain", _chain, CHAIN), ("fan", _fan, FAN)):
                gc.collect()
                cpu, wall = time.process_time(), time.perf_counter()
                await work(side)
                spent = (time.process_time() - cpu) * 1000 / calls, (time.perf_counter() - wall) * 1000
                if round_number >= 2:  # the first ones load what is loaded once
                    found[name].setdefault(f"{kind}_cpu_ms", []).append(spent[0])
                    found[name].setdefault(f"{kind}_wall_ms", []).append(spent[1])
    return {name: {key: statistics.median(values) for key, values in kinds.items()} for name, kinds in found.items()}


async def _chain(side: Side) -> None:
    await side(CHAIN)


async def _fan(side: Side) -> None:
    await asyncio.gather(*(side(1) for _ in range(FAN)))


async def measured_alone(url: str, opened: Opened) -> dict[str, float]:
    """The same of one side, and the most memory in MiB that this process, which holds nothing else, ever held."""
    async with opened(url) as side:
        (found,) = (await measured({"": side}, ROUNDS_ALONE)).values()
    return found | {"rss_mb": memory_peak_mb()}


def memory_peak_mb() -> float:
    """Of this process. `getrusage` tells that of its parent, if it was more, for it outlasts `exec`."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def print_alone(opened: Opened) -> None:
    """The whole program of a peer: the endpoint's address comes as its only argument."""
    print(json.dumps(asyncio.run(measured_alone(sys.argv[1], opened))))
