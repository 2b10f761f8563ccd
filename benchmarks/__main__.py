"""Does every promised speed hold? Runs the programs of this folder and compares what they print with the targets.

A program prints one JSON object, last on its output. `python -m benchmarks [--record] [program…]` prints a Markdown
table; with `--record` it also replaces the one in docs/benchmarks.md. The exit code is 1 if a target was missed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE, BEGIN, END = FOLDER.parent / "docs" / "benchmarks.md", "<!-- results: begin -->", "<!-- results: end -->"
PROGRAM_TIMEOUT_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One promise: the number at the dotted `key` in what `program` prints, at most `bound`, or at least, in `unit`."""

    program: str
    key: str
    what: str
    bound: float
    unit: str
    at_least: bool = False

    def met(self, measured: float | None) -> bool:
        """False, too, for what was not measured."""
        if measured is None:
            return False
        return measured >= self.bound if self.at_least else measured <= self.bound

    def row(self, measured: float | None) -> str:
        """A line of the table."""
        bound = f"{'≥' if self.at_least else '≤'} {_amount(self.bound)} {self.unit}"
        value = "not measured" if measured is None else f"{_amount(measured)} {self.unit}"
        return f"| {self.what} | {bound} | {value} | {'yes' if self.met(measured) else '**no**'} |"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


TARGETS = (
    Target(
        program="large_workspace",
        key="call_ratio",
        what="a tool call in a workspace of 50,000 files, 1 GiB",
        bound=1.5,
        unit="times that in an empty one",
    ),
    Target(
        program="large_workspace",
        key="take_in_ratio",
        what="taking such a folder in to be edited",
        bound=2.0,
        unit="times `cp -a --reflink=auto`",
    ),
    Target(
        program="prompts", key="ratio", what="characters asked in four scripted tasks", bound=0.5, unit="times before"
    ),
    Target(program="prompts", key="calling_ratio", what="the same, called natively", bound=0.5, unit="times before"),
    Target(
        program="sandbox",
        key="pass.warm_ratio",
        what="sandboxed `python -I -c pass`, warm",
        bound=1.5,
        unit="times plain",
    ),
    Target(program="sandbox", key="pass.cold_ratio", what="the same, cold", bound=3.0, unit="times plain"),
    Target(
        program="sandbox",
        key="pass_without_site.warm_ratio",
        what="sandboxed `python -I -S -c pass`, warm",
        bound=1.5,
        unit="times plain",
    ),
    Target(program="sandbox", key="pass_without_site.cold_ratio", what="the same, cold", bound=3.0, unit="times plain"),
    Target(
        program="bus",
        key="messages_per_s",
        what="bus, bursts to one subscriber and one tap",
        bound=300_000,
        unit="messages/s",
        at_least=True,
    ),
    Target(program="viewers", key="percent", what="20 who look on, 50 events/s", bound=30, unit="% of a core"),
    Target(program="between", key="p99_ms", what="p99 over NATS to an auditor's tap, 2,000/s", bound=5, unit="ms"),
    Target(
        program="memory",
        key="queries.ratio",
        what="QueryMK with 1,000,000 Megrams",
        bound=1.5,
        unit="times that with 10",
    ),
    Target(
        program="memory",
        key="rules.ratio",
        what="QueryC of a pair with 1,000,000 Megrams",
        bound=1.5,
        unit="times that with 10",
    ),
    Target(
        program="controller",
        key="quality_over_loss_permille",
        what="tasks that R7 solves by the gradient of quality",
        bound=0,
        unit="‰ more than by that of loss",
        at_least=True,
    ),
    Target(
        program="controller",
        key="quality_over_simpler_permille",
        what="tasks that R7 solves",
        bound=100,
        unit="‰ more than the best simpler controller",
        at_least=True,
    ),
    Target(
        program="books",
        key="durable_facts_per_s_32_waiters",
        what="durable facts, 32 waiters",
        bound=20_000,
        unit="facts/s",
        at_least=True,
    ),
    Target(
        program="books",
        key="intent_and_outcome_ms_median",
        what="one durable intent and its outcome",
        bound=0.5,
        unit="ms",
    ),
    Target(program="receipts", key="made_ms", what="a receipt, of 10,000,000 facts", bound=5, unit="ms of CPU"),
    Target(program="receipts", key="checked_ms", what="checking it", bound=2, unit="ms of CPU"),
    Target(program="server_books", key="cold_ratio", what="transfers, cold", bound=1, unit="pgbench", at_least=True),
    Target(program="server_books", key="hot_ratio", what="one hot account", bound=3, unit="pgbench", at_least=True),
    Target(
        program="ledger",
        key="transfers_per_s_32_writers",
        what="durable posted transfers, 32 writers",
        bound=5_000,
        unit="transfers/s",
        at_least=True,
    ),
    Target(
        program="ledger",
        key="cost_ratio_with_1000000",
        what="a posted transfer with 1,000,000 in the books",
        bound=1.25,
        unit="times that with few",
    ),
    Target(
        program="engine", key="warm_overhead_ms", what="one-subtask playbook over its tool call", bound=60, unit="ms"
    ),
    Target(program="engine", key="cold_run_s", what="the same, cold, with the self-test", bound=1.5, unit="s"),
    Target(program="engine", key="resume_s", what="resuming a killed run", bound=1.0, unit="s"),
    Target(
        program="verdicts",
        key="stdout_ratio",
        what="`stdout` verdict of `python program.py`",
        bound=2,
        unit="times plain",
    ),
    Target(
        program="verdicts",
        key="stdout_quick_ratio",
        what="`stdout` verdict of `python -I -S program.py`",
        bound=2,
        unit="times plain",
    ),
    Target(
        program="verdicts",
        key="unit_tests_unittest_ms",
        what="`unit_tests` verdict, unittest, warm",
        bound=60,
        unit="ms",
    ),
    Target(
        program="verdicts", key="unit_tests_pytest_ms", what="`unit_tests` verdict, pytest, warm", bound=120, unit="ms"
    ),
    Target(
        program="command",
        key="verify_cpu_over_ms",
        what="CPU of `earnest verify`, the whole process",
        bound=500,
        unit="ms over the tests themselves",
    ),
    Target(program="command", key="verify_wall_over_ms", what="the same, wall time", bound=450, unit="ms over them"),
    Target(
        program="command",
        key="fifty_ratio",
        what="50 submissions in one call",
        bound=1.3,
        unit="times the plain runs",
    ),
    Target(program="command", key="fifty_cpu_ratio", what="the same, CPU", bound=1.3, unit="times the plain runs"),
    Target(program="verdicts", key="pipe_call_us", what="`unit_tests`, one call over the pipe", bound=30, unit="µs"),
    Target(program="verdicts", key="pipe_call_held_us", what="the same with eight lists held", bound=45, unit="µs"),
    Target(
        program="verdicts",
        key="verdicts_per_s",
        what="`stdout` verdicts, four at a time",
        bound=40,
        unit="verdicts/s",
        at_least=True,
    ),
    Target(
        program="models",
        key="beside_openai.chain_cpu_ms",
        what="CPU of a journalled model call, chain of 5",
        bound=1.0,
        unit="ms over the `openai` client",
    ),
    Target(
        program="models",
        key="beside_openai.fan_cpu_ms",
        what="the same, 32 at once",
        bound=0.8,
        unit="ms over the `openai` client",
    ),
    Target(
        program="models",
        key="beside_openai.chain_wall_ratio",
        what="chain of 5 journalled model calls",
        bound=1.06,
        unit="times the `openai` client",
    ),
    Target(
        program="models",
        key="beside_openai.fan_wall_ratio",
        what="32 journalled model calls at once",
        bound=1.15,
        unit="times the `openai` client",
    ),
    Target(program="models", key="rss_mb", what="memory of a process that makes them", bound=100, unit="MiB"),
    Target(
        program="home",
        key="home_percent",
        what="`GET /agents/me/home`, up to 1,000,000 jobs",
        bound=60,
        unit="% of a bare FastAPI route",
        at_least=True,
    ),
    Target(
        program="home",
        key="unchanged_percent",
        what="the same, 304",
        bound=85,
        unit="% of a bare FastAPI route",
        at_least=True,
    ),
    Target(
        program="home",
        key="build_ratio",
        what="building a home anew with 1,000,000 jobs",
        bound=1.25,
        unit="times that with 100",
    ),
    Target(
        program="jobs", key="per_s", what="jobs posted to settled, over HTTP", bound=60, unit="jobs/s", at_least=True
    ),
    Target(program="jobs", key="server_cpu_ms", what="CPU of the server for each of them", bound=11, unit="ms"),
    Target(
        program="jobs",
        key="cpu_ratio",
        what="the same with 1,000,000 jobs in the books",
        bound=1.25,
        unit="times that with 100",
    ),
    Target(program="heartbeat", key="tasks_100_ms", what="reading a HEARTBEAT.md of 100 tasks", bound=5, unit="ms"),
    Target(program="heartbeat", key="megabyte_s", what="reading one of a megabyte", bound=1.0, unit="s"),
    Target(
        program="resident", key="plain.look_cpu_ms", what="CPU of an idle look of a resident agent", bound=30, unit="ms"
    ),
    Target(
        program="resident", key="plain.rss_mb", what="memory of an idle resident agent, plain loop", bound=60, unit="MB"
    ),
    Target(program="resident", key="graph.look_cpu_ms", what="CPU of the same on LangGraph", bound=30, unit="ms"),
    Target(program="resident", key="graph.rss_mb", what="memory of the same", bound=60, unit="MB"),
    Target(program="residents", key="core_percent", what="200 who look each minute", bound=50, unit="% of a core"),
    Target(
        program="recall",
        key="code.repeated_ratio",
        what="failures repeated in 20 jobs",
        bound=0.7,
        unit="times without",
    ),
    Target(
        program="recall", key="model.repeated_ratio", what="the same, a script decides", bound=0.3, unit="times without"
    ),
    Target(program="simulate", key="cpu_s", what="CPU of a simulated month, 200 agents", bound=60, unit="s"),
    Target(
        program="score",
        key="cycle_ms",
        what="a check-in with 20 machine-checked tasks, until it is judged, beside the checks",
        bound=20,
        unit="ms",
    ),
    Target(
        program="score",
        key="cycle_ratio",
        what="CPU of the same with 1,000,000 score facts",
        bound=1.25,
        unit="times that with 10",
    ),
    Target(
        program="score",
        key="look_ratio",
        what="`/api/score` and its lists with 1,000,000 score facts, the worst",
        bound=1.25,
        unit="times that with 10",
    ),
    Target(program="year", key="first_run_s", what="`earnest run` over 1,000,000 new facts", bound=3, unit="s"),
    Target(program="year", key="ratio", what="what reads most there", bound=1.5, unit="times that over 1,000"),
    Target(program="year", key="run_ratio", what="`earnest run`, caught up", bound=1.5, unit="times that over 1,000"),
    Target(program="year", key="verify_per_s", what="facts verified", bound=100_000, unit="facts/s", at_least=True),
    Target(program="backup", key="rate", what="posts beside a backup", bound=0.9, unit="times without", at_least=True),
    Target(program="backup", key="cpu", what="the same, CPU of the server", bound=1.1, unit="times without"),
    Target(program="install", key="help_s", what="`earnest --help`", bound=0.25, unit="s"),
    Target(program="install", key="size_mb", what="base install", bound=80, unit="MB"),
    Target(program="install", key="distributions", what="base install", bound=45, unit="distributions"),
)


def measure(program: str) -> Mapping[str, object]:
    """What a program printed; empty, with the reason on stderr, if it did not come to print it."""
    path = FOLDER / f"{program}.py"
    if not path.is_file():
        return {}
    try:
        done = subprocess.run(
            [sys.executable, str(path)],
            capture_output=True,
            text=True,
            timeout=PROGRAM_TIMEOUT_S,
            check=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # an installation has its bytecode
        )
        printed = done.stdout.strip()
        found: dict[str, object] = json.loads(printed[printed.index("{") :])
    except subprocess.CalledProcessError as error:
        print(f"{program}: exit code {error.returncode}\n{error.stderr}", file=sys.stderr)
    except (subprocess.TimeoutExpired, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
    else:
        return found
    return {}


def number(measured: Mapping[str, object], key: str) -> float | None:
    """The measured number at a dotted key, or None."""
    value: object = measured
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def table(targets: tuple[Target, ...], measured: Mapping[str, Mapping[str, object]]) -> str:
    """The results as Markdown."""
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    rows = [target.row(number(measured[target.program], target.key)) for target in targets]
    return "\n".join(
        [f"Measured with {machine}.", "", "| what | target | measured | met |", "|---|---|---|---|", *rows]
    )


def record(results: str) -> None:
    """Replace what stands between the two markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}\n{results}\n{after}", encoding="utf-8")


def main() -> int:
    """Measure, print, perhaps record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure and compare with the targets.")
    parser.add_argument("programs", nargs="*", help="only these (default: all)")
    parser.add_argument("--record", action="store_true", help="write the table to docs/benchmarks.md")
    asked = parser.parse_args()
    if asked.record and asked.programs:
        parser.error("a record holds all programs")
    targets = tuple(target for target in TARGETS if not asked.programs or target.program in asked.programs)
    measured = {program: measure(program) for program in dict.fromkeys(target.program for target in targets)}
    results = table(targets, measured)
    print(results)
    if asked.record:
        record(results)
    return 0 if all(target.met(number(measured[target.program], target.key)) for target in targets) else 1


if __name__ == "__main__":
    sys.exit(main())
