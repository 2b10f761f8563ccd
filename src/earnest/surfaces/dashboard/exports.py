"""Charts as files: pictures and tables."""

from typing import Final

from starlette.responses import Response

from earnest.foundation.errors import Refused
from earnest.surfaces.charts import csv_text, svg
from earnest.surfaces.dashboard.charts import chart_named
from earnest.surfaces.dashboard.look import Look

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Content-Disposition": "inline",
}


def show_chart(look: Look) -> Response:
    """One chart, `svg` or `csv`. Raises `Refused`: `not_found`, and what keeps its page from who looks."""
    chart = chart_named(look, look.params["chart"], look.params["subject"])
    form = look.params["form"]
    if form == "svg":
        return Response(svg(chart), 200, HEADERS, "image/svg+xml")
    if form == "csv":
        return Response(csv_text(chart), 200, HEADERS, "text/csv; charset=utf-8")
    raise Refused("not_found", "a chart is there as svg and csv")
