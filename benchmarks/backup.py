"""What does a backup cost a server at work? Prints one JSON object.

Agents post jobs to `earnest serve` over kept connections, as fast as it answers, in books of 50,000 facts beside 500
runs' folders. `earnest backup` to an empty folder is let work and is stopped (SIGSTOP) in turns of two seconds, so
that each rate beside it has its own just before and after: `rate` is their median ratio, `low` and `high` bound what
the median is with 95 % by the order of the ratios, `cpu` is that of the server's CPU for a request. `share` is what
the backup takes of one core while it may work. `python benchmarks/backup.py [backups]` asks for more than three.
"""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from jobs import JOB, Asking, _cpu_ms
from year_home import grow

from earnest.testing.served import ServedPlatform, served

FACTS, FOLDERS = 50_000, 500
AGENTS = 8
BLOCK_S = 2.0
IMPORTS_S = 1.0
"""What a backup takes before it begins."""
BACKUPS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """What a while came to: requests a second, milliseconds of the server's CPU for each, CPU of the backup."""

    rate: float
    cpu_ms: float
    backup_s: float = 0.0


class Load:
    """Agents who post jobs one after another, each over a connection of its own, until they are cancelled."""

    def __init__(self, platform: ServedPlatform) -> None:
        self._platform = platform
        self._done = 0

    async def go_on(self, key: str) -> None:
        asking = await Asking(self._platform, key).connect()
        while True:
            await asking.ask("POST", "/jobs", {**JOB, "amount_micro": 1_000})
            self._done += 1

    async def block(self, backup: int | None = None) -> Block:
        """Look on for a while. `backup`: the process whose CPU is counted, too."""
        loop, server = asyncio.get_running_loop(), self._platform.process.pid
        began, done, cpu_ms, backup_ms = loop.time(), self._done, _cpu_ms(server), _cpu_ms(backup) if backup else 0.0
        await asyncio.sleep(BLOCK_S)
        spent_s, answered = loop.time() - began, self._done - done
        backup_s = (_cpu_ms(backup) - backup_ms) / 1_000 if backup else 0.0
        return Block(answered / spent_s, (_cpu_ms(server) - cpu_ms) / max(1, answered), backup_s / spent_s)


async def _measured(platform: ServedPlatform, keys: list[str], target: Path, backups: int) -> dict[str, float]:
    load = Load(platform)
    agents = [asyncio.create_task(load.go_on(key)) for key in keys]
    await load.block()
    pairs: list[tuple[Block, Block]] = []
    for _ in range(backups):
        during = await _during(load, platform.home, target)
        pairs += [
            (work, _between(*rests)) for work, *rests in zip(during[1::2], during[::2], during[2::2], strict=False)
        ]
        shutil.rmtree(target)
    for one in agents:
        one.cancel()
    for one in agents:
        with contextlib.suppress(asyncio.CancelledError):
            await one
    ratios = sorted(work.rate / rest.rate for work, rest in pairs)
    off = round(0.98 * len(ratios) ** 0.5)  # of a median's place in the order (binomial)
    return {
        "rate": statistics.median(ratios),
        "low": ratios[max(0, len(ratios) // 2 - off)],
        "high": ratios[min(len(ratios) - 1, len(ratios) // 2 + off)],
        "cpu": statistics.median(work.cpu_ms / rest.cpu_ms for work, rest in pairs),
        "share": statistics.mean(work.backup_s for work, _ in pairs),
        "pairs": len(pairs),
        "per_s": statistics.median(rest.rate for _, rest in pairs),
        "load": os.getloadavg()[0],
    }


async def _during(load: Load, home: Path, target: Path) -> list[Block]:
    """While a backup is made: stopped, at work, stopped, and so on."""
    program = [str(Path(sys.executable).with_name("earnest")), "backup", str(target), "--home", str(home)]
    backup = await asyncio.create_subprocess_exec(*program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await asyncio.sleep(IMPORTS_S)
    blocks: list[Block] = []
    for number in itertools.count():
        try:
            backup.send_signal(signal.SIGCONT if number % 2 else signal.SIGSTOP)
            blocks.append(await load.block(backup.pid))
        except (ProcessLookupError, FileNotFoundError):  # it has ended within the block
            break
    assert await backup.wait() == 0
    return blocks


def _between(first: Block, second: Block) -> Block:
    return Block((first.rate + second.rate) / 2, (first.cpu_ms + second.cpu_ms) / 2)


def main() -> None:
    backups = int(sys.argv[1]) if len(sys.argv) > 1 else BACKUPS
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="earnest-bench-") as folder:
        home = Path(folder) / "home"
        grow(home, FACTS)
        (run,) = (home / "runs").glob("run_*")
        for number in range(FOLDERS):
            copy = shutil.copytree(run, run.with_name(f"{run.name[:-7]}{number:07d}"), symlinks=True)
            (copy / "note").write_text(str(number), encoding="utf-8")  # a content of its own
        with served(home, environment) as platform:
            platform.become_operator()
            keys = [platform.agent(f"buyer{at}", usd_micro=10**12)["live"] for at in range(AGENTS)]
            found = asyncio.run(_measured(platform, keys, Path(folder) / "backup", backups))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
