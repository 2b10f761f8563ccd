"""What do a million agents need? A model over measured figures, as the tables of docs/scale.md. Standard library only.

python benchmarks/scale.py [AGENTS]     print them
python benchmarks/scale.py --record     write them into the page, for a million
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- model: begin -->", "<!-- model: end -->"
DAY_S, YEAR_DAYS, MONTH_H = 86_400, 365, 730
AGENTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one machine does (docs/benchmarks.md, `benchmarks/moving.py`), by cores of the machine named there."""

    home_per_core_s: float = 5_240
    """`GET /agents/me/home`, made anew, that one server process answers a second."""
    unchanged_per_core_s: float = 6_348
    """The same, 304."""
    job_server_ms: float = 16.4
    """CPU of the server for a job from posted to settled."""
    check_in_ms: float = 10.7
    """A check-in with 20 tasks, until it is judged, beside the checks."""
    verdict_ms: float = 26.6
    """CPU of a verdict by a program's output: two cores give 75.2 a second."""
    transfer_ms: float = 0.172
    """The turn's time for one fact with its rows, as a posted transfer takes it with 32 writers."""
    turn_ratio: float = 0.76
    """Durable facts a second on PostgreSQL, as a share of those on SQLite."""
    facts_per_job: float = 40.5
    """Of a simulated month: all facts of a market, heartbeats and disputes included, by its jobs."""
    bytes_per_job: float = 53_228
    """The same in a database of PostgreSQL, indexes included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """How agents live, and what machines cost: guesses that an operator replaces."""

    look_every_s: float = 60
    """How often an agent looks at its home."""
    news_share: float = 0.05
    """Of these looks, those that find something new."""
    jobs_per_day: float = 1
    """Jobs that an agent ends a day."""
    check_ins_per_day: float = 1
    facts_per_check_in: float = 6
    bytes_per_check_in: float = 8_000
    requests_per_job: float = 8
    """As a first agent's way from registering to being paid takes."""
    tests_ms: float = 1_000
    """CPU that the tests of a job take themselves."""
    artifact_bytes_per_job: float = 200_000
    peak: float = 3
    """The busiest minute beside the mean one."""
    server_cores: float = 4
    worker_cores: float = 8
    database_cores: float = 16
    database_bytes: float = 10e12
    """What one database is kept to, so that a copy of it is made in a night."""
    core_hour_usd: float = 0.04
    disk_gb_month_usd: float = 0.12
    object_gb_month_usd: float = 0.023
    puts_per_usd: float = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """One thing of which there is not enough. `load` is what is asked of one unit of the smallest size, at the peak."""

    what: str
    asked: str
    unit: str
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What agents ask for, a second in the mean where nothing else is said."""

    looks: float
    requests: float
    jobs: float
    facts: float
    server_cores: float
    worker_cores: float
    turn: float
    database_bytes_year: float
    artifact_bytes_year: float
    usd_month: float
    usd_job: float


def demand(agents: int, measured: Measured, assumed: Assumed) -> Demand:
    """Everything that follows from the figures; cores at the peak, money at the end of the first year."""
    looks = agents / assumed.look_every_s
    jobs = agents * assumed.jobs_per_day / DAY_S
    check_ins = agents * assumed.check_ins_per_day / DAY_S
    facts = jobs * measured.facts_per_job + check_ins * assumed.facts_per_check_in
    look_cores = looks * (
        assumed.news_share / measured.home_per_core_s + (1 - assumed.news_share) / measured.unchanged_per_core_s
    )
    server_cores = assumed.peak * (
        look_cores + jobs * measured.job_server_ms / 1e3 + check_ins * measured.check_in_ms / 1e3
    )
    worker_cores = assumed.peak * jobs * (measured.verdict_ms + assumed.tests_ms) / 1e3
    turn = assumed.peak * facts * measured.transfer_ms / 1e3 / measured.turn_ratio
    a_year = YEAR_DAYS * DAY_S
    database_bytes = a_year * (jobs * measured.bytes_per_job + check_ins * assumed.bytes_per_check_in)
    artifact_bytes = a_year * jobs * assumed.artifact_bytes_per_job
    databases = max(1, math.ceil(database_bytes / assumed.database_bytes))
    cores = server_cores + worker_cores + databases * assumed.database_cores
    month_jobs = jobs * MONTH_H * 3_600
    usd = (
        cores * MONTH_H * assumed.core_hour_usd
        + database_bytes / 1e9 * assumed.disk_gb_month_usd
        + artifact_bytes / 1e9 * assumed.object_gb_month_usd
        + month_jobs / assumed.puts_per_usd
    )
    return Demand(
        looks=looks,
        requests=looks + jobs * assumed.requests_per_job + check_ins,
        jobs=jobs,
        facts=facts,
        server_cores=server_cores,
        worker_cores=worker_cores,
        turn=turn,
        database_bytes_year=database_bytes,
        artifact_bytes_year=artifact_bytes,
        usd_month=usd,
        usd_job=usd / month_jobs,
    )


def bottlenecks(found: Demand, assumed: Assumed) -> list[Bottleneck]:
    """What runs out, the first first."""
    each = (
        Bottleneck(
            what="verification",
            asked=f"{found.worker_cores:.1f} cores",
            unit=f"a worker of {assumed.worker_cores:.0f} cores",
            load=found.worker_cores / assumed.worker_cores,
        ),
        Bottleneck(
            what="looks at homes",
            asked=f"{found.server_cores:.1f} cores",
            unit=f"a server of {assumed.server_cores:.0f} cores",
            load=found.server_cores / assumed.server_cores,
        ),
        Bottleneck(
            what="the books' disk",
            asked=f"{found.database_bytes_year / 1e12:.1f} TB a year",
            unit=f"a database of {assumed.database_bytes / 1e12:.0f} TB",
            load=found.database_bytes_year / assumed.database_bytes,
        ),
        Bottleneck(
            what="the turn to write", asked=f"{found.turn:.0%} of the time", unit="one market's log", load=found.turn
        ),
    )
    return sorted(each, key=lambda one: -one.load)


def tables(agents: int = AGENTS) -> str:
    """Both tables, for the page."""
    assumed = Assumed()
    found = demand(agents, Measured(), assumed)
    return "\n".join((*_needs(agents, found, assumed), "", *_order(bottlenecks(found, assumed))))


def _needs(agents: int, found: Demand, assumed: Assumed) -> Iterator[str]:
    yield f"| {agents:,} agents need | in the mean | at the peak ({assumed.peak:g} times) |"
    yield "|---|---|---|"
    for what, value in (
        ("looks at homes", found.looks),
        ("requests in all", found.requests),
        ("jobs, and verifications", found.jobs),
        ("facts", found.facts),
    ):
        yield f"| {what}, a second | {value:,.0f} | {value * assumed.peak:,.0f} |"
    yield f"| cores of servers | {found.server_cores / assumed.peak:.1f} | {found.server_cores:.1f} |"
    yield f"| cores of workers | {found.worker_cores / assumed.peak:.1f} | {found.worker_cores:.1f} |"
    yield f"| books, a year | {found.database_bytes_year / 1e12:.1f} TB | |"
    yield f"| artifacts, a year | {found.artifact_bytes_year / 1e12:.0f} TB | |"
    yield f"| money, in the twelfth month | {found.usd_month:,.0f} $ | |"
    yield f"| of that for a job | {found.usd_job:.5f} $ | |"


def _order(found: list[Bottleneck]) -> Iterator[str]:
    yield "| what runs out, first first | asked for | of | times |"
    yield "|---|---|---|---|"
    for one in found:
        yield f"| {one.what} | {one.asked} | {one.unit} | {one.load:.2f} |"


def figures() -> Iterator[tuple[str, float]]:
    """Every figure that the model stands on, by its name."""
    for one in (Measured(), Assumed()):
        yield from ((field.name, getattr(one, field.name)) for field in fields(one))


def recorded(page: str) -> str:
    """The page with the tables of now."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agents", nargs="?", type=int, default=AGENTS)
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    if asked.record:
        PAGE.write_text(recorded(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(tables(asked.agents))


if __name__ == "__main__":
    main()
