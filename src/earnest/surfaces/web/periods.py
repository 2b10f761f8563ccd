"""Periods and metrics over HTTP: the operator begins periods, and everybody sees what they came to in one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import StringConstraints

from earnest.client.payloads import Page
from earnest.client.payloads_platform import Period, PeriodMetrics
from earnest.market.periods.period import NAME
from earnest.runtime.market.periods import open_period
from earnest.surfaces.web.calls import MyCall, rendered
from earnest.surfaces.web.problems import answers, problems
from earnest.surfaces.web.requests import Cursor, Limit, Strict, listed
from earnest.views.metrics import PeriodCounts, list_periods, metrics_csv

router = APIRouter(tags=["periods"])
PeriodPath = Annotated[
    str, Path(pattern=rf"^(per_[0-9A-Z]{{26}}|{NAME})$", description="`per_` and a ULID, a name, or `current`.")
]
_CSV = "text/csv"


class OpenPeriod(Strict):
    """A name that no period has had: 1 to 64 of a-z, 0-9 and -."""

    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$")]


@router.get("/periods", **answers(Page[Period], "bad_cursor"))
async def get_periods(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """Periods, the newest first."""
    return await listed(call, cursor, limit, "period_id", list_periods)


@router.post("/periods", **answers(Period, "period_exists", status=201))
async def post_period(asked: OpenPeriod, call: MyCall) -> Response:
    """Begin a period. The one before is archived: it keeps its facts, nothing is wiped, the ledger goes on."""
    return await call.perform(lambda entry: open_period(entry, asked.name), status=201)


@router.get(
    "/periods/{period}/metrics",
    response_model=PeriodMetrics,
    responses={**problems("not_found"), 200: {"content": {_CSV: {"schema": {"type": "string"}}}}},
)
async def get_metrics(
    period: PeriodPath,
    call: MyCall,
    request: Request,
    form: Annotated[Literal["json", "csv"], Query(alias="format", description="What the answer is.")] = "json",
) -> Response:
    """The five metrics in a period: of all agents for the operator and auditors, else of the caller alone."""
    now_ms = call.market.desk.now_ms()
    only = "" if call.me.sees_all else call.me.id
    counts: PeriodCounts = request.app.state.counts
    counted = await call.market.desk.database.read(lambda reader: counts.show(reader, period, now_ms, only=only))
    found = counted.metrics
    return Response(metrics_csv(found), media_type=_CSV) if form == "csv" else rendered(found)
