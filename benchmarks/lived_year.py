"""A year of one data directory, lived in an hour or so: a market, runs of the engine, nightly dreams, weekly sweeps.

`live(home, days, runs, jobs)`: a market of `earnest simulate` first, over as many days; then the runs, each by the path
of `earnest run`, with a playbook and the disk of this machine, and the days of a clock that is moved at each midnight.
Each month is a process of its own, as after a restart. A line of JSON per month goes to stderr and `HOME.jsonl`: what
it cost, and where the disk is. `python benchmarks/lived_year.py HOME [runs [planned]]` lives 365 days that end now;
called again, it goes on with the first month that is not told there. `planned` of ten runs end with their plan, as
those of `earnest run --plan-only` do, with half as many facts and less than half of the CPU.
"""

import asyncio
import itertools
import json
import multiprocessing
import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

from earnest.app.platform import open_platform
from earnest.app.readers import order_of
from earnest.app.settings import Settings, read_settings
from earnest.app.simulating import simulated_in
from earnest.app.sweeping import sweep
from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import SystemClock
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.messages import PlanReady
from earnest.foundation.instants import DAY_MS
from earnest.runtime.order import Grants
from earnest.runtime.simulation.story import SimulationPlan
from earnest.runtime.telling import note_told

DAYS, RUNS, JOBS, AGENTS = 365, 100_000, 5_200, 60
MONTH_DAYS, WEEK_DAYS = 30, 7
AT_ONCE = 32
AUDIT_DAYS, AUDIT_FILE_MB = 90, 16
"""Of the settings alone these differ from the usual ones, so that the log is seen to lose what is old."""
PLAYBOOK = """
format: earnest-playbook-v1
intent: Write a word
task_class: one_word
subtasks:
  - id: word
    intent: Write it
    criteria: [{text: the word is there, check: {kind: files, required: [{path: word.txt, contains: kept}]}}]
    approaches: [{id: note, steps: [{tool: write_file, args: {path: word.txt, content: kept}}]}]
"""


class MovedClock(SystemClock):
    """The machine's clock, some days behind."""

    def __init__(self, behind_ms: int) -> None:
        self.behind_ms = behind_ms

    def now_ms(self) -> int:
        return super().now_ms() - self.behind_ms

    def ticks_ns(self) -> int:
        return super().ticks_ns() - self.behind_ms * 1_000_000


def settings_of(home: Path) -> Settings:
    """Those of the year: retention as usual, but for the audit log."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    table = f"audit_days = {AUDIT_DAYS}\naudit_file_mb = {AUDIT_FILE_MB}\n"
    (home / "settings.toml").write_text(table, encoding="utf-8")
    return read_settings({"EARNEST_HOME": str(home)})


def live(
    home: Path, *, days: int = DAYS, runs: int = RUNS, jobs: int = JOBS, agents: int = AGENTS, planned: int = 0
) -> None:
    """Live it, from where it was left."""
    settings_of(home)
    told = home.with_name(f"{home.name}.jsonl")
    lived = len(told.read_text(encoding="utf-8").splitlines()) if told.exists() else 0
    context = multiprocessing.get_context("spawn")  # each month begins as a new process does
    with context.Pool(1, maxtasksperchild=1) as pool, told.open("a", encoding="utf-8") as lines:
        for number, first in enumerate((-1, *range(0, days, MONTH_DAYS))):
            if number < lived:
                continue
            last = min(first + MONTH_DAYS, days)
            counts = [runs * (day + 1) // days - runs * day // days for day in range(first, last)]
            work = (_month, home, days - first, counts, planned) if number else (_market, home, days, jobs, agents)
            line = json.dumps(pool.apply(work[0], work[1:]))
            print(line, file=lines, flush=True)
            print(line, file=sys.stderr, flush=True)


def _market(home: Path, days: int, jobs: int, agents: int) -> object:
    plan = SimulationPlan(days=days, agents=agents, jobs=jobs)
    found = asyncio.run(simulated_in(home, plan, SystemClock().now_ms() - days * DAY_MS))
    assert not found.wrongs, found.wrongs
    return {"market_facts": found.facts, "cpu_s": round(time.process_time(), 1), "disk_mb": disk_mb(home)}


def _month(home: Path, days_left: int, counts: list[int], planned: int) -> object:
    began = time.perf_counter()
    settings, clock = settings_of(home), MovedClock(days_left * DAY_MS)
    found = asyncio.run(_lived(settings, clock, counts, planned))
    cpu_s = resource.getrusage(resource.RUSAGE_SELF)
    found["cpu_s"] = round(cpu_s.ru_utime + cpu_s.ru_stime, 1)
    found["wall_s"] = round(time.perf_counter() - began, 1)
    found["rss_mb"] = cpu_s.ru_maxrss // 1024
    found["disk_mb"] = disk_mb(home)
    return found


async def _lived(settings: Settings, clock: MovedClock, counts: list[int], planned: int) -> dict[str, object]:
    playbook = settings.home / "playbook.yaml"
    playbook.write_text(PLAYBOOK, encoding="utf-8")
    before, opened = time.process_time(), time.perf_counter()
    running = sweeping = dreaming = 0.0
    swept: list[int] = []
    async with open_platform(settings, clock=clock) as platform:
        start_s, start_cpu_s = time.perf_counter() - opened, time.process_time() - before
        order, only_planned, number = order_of(playbook, Grants()), set[str](), itertools.count()

        def hear(envelope: Envelope) -> None:
            if isinstance(envelope.payload, PlanReady) and envelope.run_id in only_planned:
                platform.engine.stop(envelope.run_id, AbandonCause.USER, "only the plan was asked for")

        platform.bus.tap("plans", hear)

        async def work(count: int) -> None:
            for _ in range(count):
                run_id = await platform.runs.begin(order)
                if next(number) % 10 < planned:
                    only_planned.add(run_id)
                result = await platform.runs.work(run_id)
                assert result.directive == ("abandon" if run_id in only_planned else "accept"), result
                note_told(settings.home / "runs" / run_id)

        for day, count in enumerate(counts):
            began = time.process_time()
            await asyncio.gather(*(work(count // AT_ONCE + (at < count % AT_ONCE)) for at in range(AT_ONCE)))
            await platform.after_run()
            ran = time.process_time()
            await platform.dreaming.cycle()
            dreamt = time.process_time()
            if day % WEEK_DAYS == 0:
                swept.append(len((await asyncio.to_thread(sweep, settings, dry=False, clock=clock)).runs))
            running, dreaming = running + ran - began, dreaming + dreamt - ran
            sweeping += time.process_time() - dreamt
            clock.behind_ms -= DAY_MS
    return {
        "runs": sum(counts),
        "run_cpu_ms": round(1000 * running / max(1, sum(counts)), 2),
        "dream_cpu_s": round(dreaming, 1),
        "sweep_cpu_s": round(sweeping, 1),
        "swept_runs": sum(swept),
        "start_s": round(start_s, 2),
        "start_cpu_s": round(start_cpu_s, 2),
    }


def disk_mb(home: Path) -> dict[str, float]:
    """By what lies in the data directory, in megabytes as the disk counts them."""
    return {one.name: round(_size(one) / 1e6, 1) for one in sorted(home.iterdir()) if _size(one) >= 100_000}


def _size(place: Path) -> int:
    if not place.is_dir():
        return place.lstat().st_blocks * 512
    size_bytes = 0
    for folder, _, names in os.walk(place):
        for name in (".", *names):
            with suppress(FileNotFoundError):
                size_bytes += os.lstat(f"{folder}/{name}").st_blocks * 512
    return size_bytes


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[2:]]
    live(Path(sys.argv[1]), runs=given[0] if given else RUNS, planned=given[1] if given[1:] else 0)
