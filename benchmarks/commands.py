"""Which commands cost more in a home of a year? Prints one JSON object, and a table in Markdown to stderr.

`python benchmarks/commands.py HOME [HOME]`: each command in turns in two homes that were lived by `lived_year.py`, of
1,000 facts (made where only one is named) and of a year; CPU of its process and, where it asks a server, of that,
medians of three. `grows`: those that cost more than 1.5 times as much, but for the ones that read everything.
`start_s`: until `earnest serve` is ready, wall time and CPU.
"""

import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobs import _cpu_ms
from lived_year import live
from year_home import PLAYBOOK

from earnest.testing.served import PROGRAM, served

ROUNDS = 3
BOUND = 1.5
LOCAL = (
    *("runs", "runs --limit 5", "show", "show RUN --log", "receipt show RUN", "review list"),
    *("audit report", "audit tail -n 20", "audit calibrate"),
    *("memory show", "memory show rules", "memory query intent:one_word", "memory persona show"),
    *("memory remember note --tag intent:one_word", "dream --now", "run PLAYBOOK", "run PLAYBOOK --plan-only"),
    *(
        "journal verify --continue",
        "audit verify --continue",
        "doctor",
        "gc --dry-run",
        "gc",
        "migrate",
        "environment list",
    ),
    *("export twin0 NEW", "receipt key"),
)
EVERYTHING = (
    *("journal verify", "recompute", "memory rebuild", "backup BACKUP", "restore BACKUP --verify-only"),
    "audit verify",
)
"""These read all that is there, by what they are for: they are told by the fact."""
SERVED = (
    *("keys list", "wallet", "wallet --entries 10", "score", "metrics", "jobs list", "jobs list --state open"),
    *("world show", "world summary", "world chat", "world board", "periods list", "agent questions"),
)


class Home:
    """A home, and what commands in it cost."""

    def __init__(self, home: Path, scratch: Path) -> None:
        self.home, self.scratch, self.number = home, scratch, 0
        listed = self.run("runs", "--limit", "1", "--json")
        self.newest = str(json.loads(listed.stdout.splitlines()[0])["run"])
        self.facts = int(json.loads(self.run("journal", "verify", "--json").stdout)["facts"])

    def run(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "EARNEST_HOME": str(self.home), **more}
        program = str(Path(sys.executable).with_name("earnest"))
        return subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=False)

    def cost_ms(self, line: str, **more: str) -> float:
        """CPU of one command, in ms."""
        self.number += 1
        given = {"RUN": self.newest, "PLAYBOOK": str(PLAYBOOK), "NEW": str(self.scratch / f"new{self.number}")}
        given["BACKUP"] = str(self.scratch / "backup")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.run(*(given.get(word, word) for word in line.split()), **more)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in {0, 1, 3}:
            print(f"{line}: {done.returncode} {done.stderr[-300:]}", file=sys.stderr)
        if done.returncode and done.stderr.startswith("earnest: "):
            print(f"{line}: {done.stderr[:200]}", file=sys.stderr)
        return 1_000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measured(homes: tuple[Home, Home]) -> dict[str, tuple[float, float]]:
    """By command, the medians in both."""
    found = {}
    for line in (*LOCAL, *EVERYTHING):
        spent: tuple[list[float], list[float]] = [], []
        for _ in range(1 if line in EVERYTHING else ROUNDS):
            for home, costs in zip(homes, spent, strict=True):
                costs.append(home.cost_ms(line))
        found[line] = statistics.median(spent[0]), statistics.median(spent[1])
        print(line, *found[line], file=sys.stderr, flush=True)
    return found


def asked(homes: tuple[Home, Home]) -> tuple[dict[str, tuple[float, float]], list[float]]:
    """The same of commands that ask a server, with its CPU; and seconds until each server was ready."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    found: dict[str, tuple[float, float]] = {}
    with contextlib.ExitStack() as stack:
        sides, starts = [], []
        for home in homes:
            began = time.perf_counter()
            platform = stack.enter_context(served(home.home, environment, program=PROGRAM))
            starts += [time.perf_counter() - began, _cpu_ms(platform.process.pid) / 1_000]
            made = platform.ask("POST", "/agents/register", {"handle": "a_newcomer"})
            sides.append((home, platform, {"EARNEST_URL": platform.url, "EARNEST_KEY": str(made["key"])}))
        time.sleep(20)  # what works beside the requests has had its first look
        for line in SERVED:
            costs: list[list[float]] = [[], []]
            for _ in range(ROUNDS):
                for (home, platform, more), spent in zip(sides, costs, strict=True):
                    before = _cpu_ms(platform.process.pid)
                    own = home.cost_ms(line, **more)
                    spent.append(own + _cpu_ms(platform.process.pid) - before)
            found[line] = statistics.median(costs[0]), statistics.median(costs[1])
            print(line, *found[line], file=sys.stderr, flush=True)
    return found, starts


def table(found: Mapping[str, tuple[float, float]], facts: int) -> Iterator[str]:
    """Markdown."""
    yield "| command | 1,000 facts | the year | ratio |"
    yield "|---|---|---|---|"
    for line, (few, many) in found.items():
        ratio = f"{many * 1e3 / facts:.0f} µs a fact" if line in EVERYTHING else f"{many / few:.2f}"
        yield f"| `{line}` | {few:.0f} ms | {many:.0f} ms | {ratio} |"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="earnest-bench-") as folder:
        if len(sys.argv) > 2:
            small = Path(sys.argv[2])
        else:
            small = Path(folder) / "few"
            live(small, days=3, runs=15, jobs=3, agents=3)
        homes = Home(small, Path(folder) / "scratch1"), Home(Path(sys.argv[1]), Path(folder) / "scratch2")
        for home in homes:
            home.scratch.mkdir()
        found = measured(homes)
        by_server, starts = asked(homes)
        found |= by_server
    print("\n".join(table(found, homes[1].facts)), file=sys.stderr)
    grows = {line: many / few for line, (few, many) in found.items() if line not in EVERYTHING and many > BOUND * few}
    facts = [home.facts for home in homes]
    print(json.dumps({"grows": grows, "start_s": starts, "facts": facts, "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
