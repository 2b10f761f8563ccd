"""Charts as files: pictures and tables."""

from typing import Final

from starlette.responses import Response

from earnest.foundation.errors import Refused
from earnest.surfaces.charts import csv_text, svg
from earnest.surfaces.dashboard.books import plane
from earnest.surfaces.dashboard.charts import chart_named
from earnest.surfaces.dashboard.look import Look

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Content-Disposition": "inline",
}

TYPES: Final = {"svg": "image/svg+xml", "csv": "text/csv; charset=utf-8"}


def show_chart(look: Look) -> Response:
    """One chart, `svg` or `csv`. Raises `Refused`: `not_found`, and what keeps its page from who looks."""
    name, subject, form = (look.params[each] for each in ("chart", "subject", "form"))
    if form not in TYPES:
        raise Refused("not_found", "a chart is there as svg and csv")
    if (name, subject) == ("memory", "all"):
        return Response(plane(look, form), 200, HEADERS, TYPES[form])
    chart = chart_named(look, name, subject)
    return Response(svg(chart) if form == "svg" else csv_text(chart), 200, HEADERS, TYPES[form])
