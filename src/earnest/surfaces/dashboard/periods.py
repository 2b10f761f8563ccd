"""The five metrics of agents by period: a page, and each metric as a chart."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from earnest.client.payloads_platform import AgentMetrics, PeriodMetrics
from earnest.foundation.errors import Refused
from earnest.market.periods.period import CURRENT
from earnest.surfaces.charts import Chart, Series
from earnest.surfaces.dashboard.look import Look
from earnest.views.metrics import Counted, list_periods

PERIODS_MAX: Final = 100
NAME_CHARACTERS_MAX: Final = 100
PAGE: Final = 50
FACTS_AT_ONCE: Final = 1_000
"""So many facts are counted for one look at a page, which looks again until all are: no page takes long."""
CHART_AGENTS_MAX: Final = 20
MICRO: Final = 1_000_000


class Metric(NamedTuple):
    """One of the five: its chart's title and unit, and what of an agent's metrics each series is."""

    title: str
    unit: str
    series: Mapping[str, Callable[[AgentMetrics], float | None]]


METRICS: Final[Mapping[str, Metric]] = {
    "verified-per-hour": Metric(
        "Verified tasks per hour", "tasks per hour", {"tasks per hour": lambda one: one["verified_per_hour"]}
    ),
    "failure-rate": Metric(
        "Failure rate", "rejected of decided", {"rejected by machines": lambda one: one["failure_rate"]}
    ),
    "aid-delta": Metric("ai$ gained or lost", "ai$", {"ai$": lambda one: one["aid_delta_micro"] / MICRO}),
    "approval": Metric(
        "Time until approval, from handing in",
        "seconds",
        {
            "median": lambda one: one["approval_from_submission"]["median_s"],
            "90th percentile": lambda one: one["approval_from_submission"]["p90_s"],
        },
    ),
    "thrash-index": Metric("Thrash index", "left per begun", {"thrash index": lambda one: one["thrash_index"]}),
}


def show_periods(look: Look) -> tuple[str, dict[str, Any]]:
    """The metrics of a period, by default the current one: of all agents for those who see all, else one's own."""
    look.need_login()
    asked = look.params.get("period", CURRENT)
    if not (periods := list_periods(look.reader, "", PERIODS_MAX)):
        return "metrics.html", {"title": "Metrics", "periods": [], "agents": [], "charts": {}, "more": ""}
    found, counted, facts = _counted(look, asked, FACTS_AT_ONCE)
    first = look.query.get("after", "")[:40]
    agents = [one for one in found["agents"] if one["handle"] > first]
    return "metrics.html", {
        "title": "Metrics",
        "periods": periods,
        "period": found["period"],
        "counted": counted if counted < facts else None,
        "facts": facts,
        "span_ms": found["span_s"] * 1_000,
        "agents": agents[:PAGE],
        "more": agents[PAGE - 1]["handle"] if len(agents) > PAGE else "",
        "charts": {name: _chart(name, found) for name in METRICS},
    }


def metric_chart(look: Look, name: str, period: str) -> Chart:
    """One metric of a period. Raises `Refused`: `not_found`, `missing_key`."""
    look.need_login()
    return _chart(name, _counted(look, period).metrics)


def _counted(look: Look, asked: str, facts_max: int | None = None) -> Counted:
    if len(asked) > NAME_CHARACTERS_MAX:
        raise Refused("not_found", "there is no such period")
    only = "" if look.sees_all else look.my_id
    return look.counts.show(look.reader, asked, look.now_ms, only=only, facts_max=facts_max)


def _chart(name: str, found: PeriodMetrics) -> Chart:
    """Agents that are the first by this metric, the greatest first; those of whom nothing was measured are left out."""
    metric = METRICS[name]
    main = next(iter(metric.series.values()))
    measured = [(value, one) for one in found["agents"] if (value := main(one)) is not None]
    measured.sort(key=lambda pair: -pair[0])
    shown = [one for _, one in measured[:CHART_AGENTS_MAX]]
    return Chart(
        title=f"{metric.title}, period {found['period']['name']}",
        across="agent",
        up=metric.unit,
        labels=tuple(f"@{one['handle']}" for one in shown),
        series=tuple(Series(name=name, values=tuple(map(value, shown))) for name, value in metric.series.items()),
        bars=True,
    )
