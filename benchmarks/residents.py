"""What do agents cost a server that look each minute and have nothing to do? Prints one JSON object.

200 agents keep a connection each to `earnest serve` on embedded books and ask for their home every 60 s, spread evenly,
with the ETag of the answer before, as residents do. The CPU is that of the server's process over two minutes, in
percent of a core; what it takes by itself, without anybody who looks, stands beside it.
"""

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

from earnest.client.client import AsyncClient
from earnest.testing.served import GENEROUS, ServedPlatform, served

AGENTS = 200
EVERY_S = 60.0
ROUNDS = 2
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}


async def _looking(client: AsyncClient, first_s: float) -> int:
    """Looks on the minute; how many of them were answered 304. The first one, which is not counted, opens the way."""
    began = time.monotonic()
    unchanged = 0
    for number in range(ROUNDS):
        await asyncio.sleep(began + first_s + number * EVERY_S - time.monotonic())
        unchanged += not (await client.home()).is_changed
    return unchanged


def _cpu_s(platform: ServedPlatform) -> float:
    fields = Path(f"/proc/{platform.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _measured(platform: ServedPlatform, keys: list[str]) -> dict[str, float]:
    clients = [AsyncClient(platform.url, key) for key in keys]
    for client in clients:
        await client.home()
    idle_s = _cpu_s(platform)
    await asyncio.sleep(EVERY_S / 2)
    idle_s = (_cpu_s(platform) - idle_s) * 2
    began_s = _cpu_s(platform)
    spread = [EVERY_S * number / AGENTS for number in range(AGENTS)]
    unchanged = sum(await asyncio.gather(*map(_looking, clients, spread)))
    busy_s = _cpu_s(platform) - began_s
    for client in clients:
        await client.close()
    return {
        "agents": AGENTS,
        "core_percent": 100 * busy_s / (EVERY_S * ROUNDS),
        "alone_percent": 100 * idle_s / EVERY_S,
        "unchanged_ratio": unchanged / (AGENTS * ROUNDS),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as name, served(Path(name), ENVIRONMENT, settings=GENEROUS) as platform:
        platform.become_operator()
        keys = [platform.agent(f"agent_{number}")["live"] for number in range(AGENTS)]
        print(json.dumps(asyncio.run(_measured(platform, keys)), indent=1))


if __name__ == "__main__":
    main()
