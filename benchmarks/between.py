"""How soon does an auditor elsewhere see what is said here, over NATS?

Run with `python benchmarks/between.py`. Three processes beside the server: this one publishes at an even rate on its
bus and tells that on, another one follows and notes at its tap when each message came. Both read one clock.
"""

import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from earnest.audit.following import HeardBus
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.bus.nats import NatsReader, NatsWriter
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.engine.messages import GroupStarted, Role
from earnest.runtime.bus_relay import BusRelay

PER_S = 2_000
WARM_S, MEASURED_S = 2, 10
CLOCK = SystemClock()


@contextmanager
def nats_server(folder: Path) -> Iterator[str]:
    """The address of a server that keeps what it is sent in a folder, on the disk."""
    program = shutil.which("nats-server", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert program is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = [program, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(folder)]
    with subprocess.Popen(given, stderr=subprocess.DEVNULL) as server:
        yield f"nats://127.0.0.1:{port}"
        server.kill()


async def publish(address: str, folder: Path) -> None:
    """Say so many a second; each names the instant at which it was said, in nanoseconds, as its sequence."""
    bus, writer, many = Bus(), NatsWriter(address), PER_S * (WARM_S + MEASURED_S)
    with closing(Database.open(folder / "books.sqlite3", CLOCK)) as books:
        relay = BusRelay(writer, books=books, folder=folder / "bus", clock=CLOCK)
        bus.tap("relay", relay.see)
        telling = asyncio.create_task(relay.run())
        begun_ns = time.monotonic_ns()
        for number in range(many):
            wait_s = number / PER_S - (time.monotonic_ns() - begun_ns) / 1e9
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            said = GroupStarted(round=1, sequence=time.monotonic_ns(), subtask_ids=("count",))
            bus.publish(
                Envelope(
                    id=f"run_a/1/group/{number}",
                    run_id="run_a",
                    sender=Role.DISPATCHER,
                    causation_id="run_a/1/plan",
                    at_ms=CLOCK.now_ms(),
                    payload=said,
                )
            )
        await relay.close()
        telling.cancel()
        await writer.close()


async def follow(address: str) -> None:
    """Print, for each message in order, how many nanoseconds after it was said the tap saw it."""
    bus, reader, late = HeardBus(), NatsReader(address), list[int]()
    everything = asyncio.Event()

    def see(envelope: Envelope) -> None:
        assert isinstance(envelope.payload, dict)
        late.append(time.monotonic_ns() - envelope.payload["sequence"])
        if len(late) == PER_S * (WARM_S + MEASURED_S):
            everything.set()

    bus.tap("latency", see)
    following = asyncio.create_task(bus.follow(reader, CLOCK, 0, ""))
    print(flush=True)
    await everything.wait()
    following.cancel()
    await reader.close()
    print(json.dumps(late))


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(follow(sys.argv[1]))
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        nats_server(Path(folder) / "nats") as address,
        subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE, text=True) as follower,
    ):
        assert follower.stdout is not None
        follower.stdout.readline()
        cpu_s = time.process_time()
        asyncio.run(publish(address, Path(folder)))
        cpu_s = time.process_time() - cpu_s
        late = json.loads(follower.stdout.read())[PER_S * WARM_S :]
    cuts = statistics.quantiles(late, n=1_000)
    print(
        json.dumps(
            {
                "messages_per_s": PER_S,
                "p50_ms": round(cuts[499] / 1e6, 2),
                "p99_ms": round(cuts[989] / 1e6, 2),
                "longest_ms": round(max(late) / 1e6, 2),
                "publisher_cpu_us_per_message": round(1e6 * cpu_s / PER_S / (WARM_S + MEASURED_S), 1),
                "load": round(os.getloadavg()[0], 1),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
