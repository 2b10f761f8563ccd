"""How fast is a home beside a bare FastAPI route that does one SQLite read? Prints one JSON object.

Both are asked over real sockets, in turns, of one server process (`home_server.py`), with 100 jobs in the books and
with 1,000,000. For each answer the asking side does far less than the server.
"""

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import uvloop

CONNECTIONS = 16
ROUNDS = 30
ROUND_S = 0.3
WARM_S = 0.5
SIZES = (100, 1_000_000)
HOME = "/api/v1/agents/me/home"


class Connection(asyncio.Protocol):
    """Asks again as soon as it is answered."""

    def __init__(self, request: bytes, expected: bytes) -> None:
        self._request = request
        self._expected = expected
        self._read = bytearray()
        self.answers = 0
        self.is_on = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by name
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head = self._read.find(b"\r\n\r\n")
        if head < 0:
            return
        length = self._read.find(b"content-length: ", 0, head)
        size = int(self._read[length + 16 : self._read.index(b"\r", length)]) if length >= 0 else 0
        if len(self._read) < head + 4 + size:
            return
        assert self._read.startswith(self._expected), bytes(self._read[:200])
        self._read.clear()
        self.answers += 1
        if self.is_on:
            self._transport.write(self._request)

    def close(self) -> None:
        self.is_on = False
        self._transport.close()


class Rate(NamedTuple):
    """Answers per second, and per second of the server's CPU time."""

    per_s: float
    per_cpu_s: float


async def load(server: "Served", request: bytes, expected: bytes, seconds: float) -> Rate:
    """How many answers come over all connections."""
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Connection(request, expected), "127.0.0.1", server.port)
        for _ in range(CONNECTIONS)
    ]
    connections = [protocol for _, protocol in made]
    await asyncio.sleep(0.02)
    before, cpu, start = sum(each.answers for each in connections), server.cpu_s(), time.perf_counter()
    await asyncio.sleep(seconds)
    answers = sum(each.answers for each in connections) - before
    rate = Rate(answers / (time.perf_counter() - start), answers / max(0.001, server.cpu_s() - cpu))
    for each in connections:
        each.close()
    return rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server that is up. `etag` is the home's; `build_us` what it takes to read and build that anew."""

    pid: int
    port: int
    key: str
    etag: str
    build_us: float

    def cpu_s(self) -> float:
        """CPU time that the process has had."""
        fields = Path(f"/proc/{self.pid}/schedstat").read_text(encoding="ascii").split()
        return int(fields[0]) / 1e9


@contextmanager
def served(folder: Path, jobs: int, address: str = "") -> Iterator[Served]:
    """A platform in a process of its own, with so many jobs in its books: a file, or those of a server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        descriptor = listening.fileno()
        program = [
            sys.executable,
            str(Path(__file__).with_name("home_server.py")),
            str(folder),
            str(jobs),
            str(descriptor),
            address,
        ]
        with subprocess.Popen(program, pass_fds=(descriptor,), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                ready = json.loads(process.stdout.readline())
                yield Served(pid=process.pid, port=listening.getsockname()[1], **ready)
            finally:
                process.terminate()


def _request(path: str, **headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


async def rates(server: Served) -> dict[str, float]:
    """Answers per second, and shares of the bare route's; by the clock and by the server's own CPU time.

    Rounds are short and take turns, so that a neighbour on the machine disturbs all sides alike.
    """
    bearer = {"Authorization": f"Bearer {server.key}"}
    sides = {
        "bare": (_request("/bare"), b"HTTP/1.1 200"),
        "home": (_request(HOME, **bearer), b"HTTP/1.1 200"),
        "unchanged": (_request(HOME, **bearer, **{"If-None-Match": server.etag}), b"HTTP/1.1 304"),
    }
    for request, expected in sides.values():
        await load(server, request, expected, WARM_S)
    rounds: dict[str, list[Rate]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            rounds[name].append(await load(server, *side, ROUND_S))
    found = {f"{name}_per_s": statistics.mean(each.per_s for each in rates) for name, rates in rounds.items()}
    cpu = {name: statistics.median(each.per_cpu_s for each in rates) for name, rates in rounds.items()}
    for name in ("home", "unchanged"):
        found[f"{name}_percent"] = 100 * found[f"{name}_per_s"] / found["bare_per_s"]
        found[f"{name}_cpu_percent"] = 100 * cpu[name] / cpu["bare"]
    return {**found, "build_us": server.build_us}


def main() -> None:
    found: dict[str, Any] = {}
    for jobs in SIZES:
        with (
            tempfile.TemporaryDirectory(prefix="earnest-bench-") as folder,
            served(Path(folder), jobs) as server,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            found[f"jobs_{jobs}"] = runner.run(rates(server))
    few, many = found[f"jobs_{SIZES[0]}"], found[f"jobs_{SIZES[-1]}"]
    for name in ("home_percent", "unchanged_percent"):
        found[name] = min(each[name] for each in (few, many))
    found["build_ratio"] = many["build_us"] / few["build_us"]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
