"""Which charts there are, from what they are made, and each as a file: a picture or a table."""

from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response

from earnest.foundation.errors import Refused
from earnest.surfaces.charts import Chart, Series, csv_text, svg
from earnest.surfaces.dashboard.books import plane
from earnest.surfaces.dashboard.look import Look
from earnest.surfaces.dashboard.periods import METRICS, metric_chart
from earnest.surfaces.loss import loss_chart
from earnest.views.agents_public import find_agent
from earnest.views.overview import score_days, verdicts_by_hour
from earnest.views.runs import show_run

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Content-Disposition": "inline",
}

TYPES: Final = {"svg": "image/svg+xml", "csv": "text/csv; charset=utf-8"}


def score_chart(look: Look, account_id: str, handle: str) -> Chart:
    """Thirty days of an agent's points, and the bar that rises with them."""
    days = score_days(look.reader, account_id)
    return Chart(
        title=f"Points of @{handle} by day, and the bar",
        across="day",
        up="points",
        labels=tuple(day.date[5:] for day in days),
        series=(
            Series(name="points", values=tuple(day.score for day in days)),
            Series(name="bar", values=tuple(day.target for day in days), steps=True),
        ),
        bars=True,
    )


def verdict_chart(look: Look) -> Chart:
    """Verdicts in each of the last 24 hours."""
    found = verdicts_by_hour(look.reader, look.now_ms)
    return Chart(
        title="Verdicts by the hour",
        across="hour (UTC)",
        up="verdicts",
        labels=tuple(datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%H:00") for at_ms, _ in found),
        series=(Series(name="verdicts", values=tuple(count for _, count in found)),),
        bars=True,
    )


def chart_named(look: Look, name: str, subject: str) -> Chart:
    """A chart by its address. Raises `Refused`: `not_found`, and what keeps its page from who looks."""
    if name == "score":
        account = find_agent(look.reader, subject)
        look.need_login()
        if not look.sees_all and account.id != look.my_id:
            raise Refused("not_found", f"there is no chart of {subject[:80]!r}, or you may not know of it")
        return score_chart(look, account.id, account.handle)
    if name in METRICS:
        return metric_chart(look, name, subject)
    look.need_all()
    if name == "verdicts" and subject == "all":
        return verdict_chart(look)
    if name == "loss":
        return loss_chart(show_run(look.reader, subject))
    raise Refused("not_found", f"there is no chart {name[:80]!r}")


def show_chart(look: Look) -> Response:
    """One chart, `svg` or `csv`. Raises `Refused`: `not_found`, and what keeps its page from who looks."""
    name, subject, form = (look.params[each] for each in ("chart", "subject", "form"))
    if form not in TYPES:
        raise Refused("not_found", "a chart is there as svg and csv")
    if (name, subject) == ("memory", "all"):
        return Response(plane(look, form), 200, HEADERS, TYPES[form])
    chart = chart_named(look, name, subject)
    return Response(svg(chart) if form == "svg" else csv_text(chart), 200, HEADERS, TYPES[form])
