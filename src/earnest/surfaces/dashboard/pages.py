"""Every page by its address, and how a request becomes one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.surfaces.dashboard import agents, books, charts, jobs, periods, runs, today, town
from earnest.surfaces.dashboard.look import Look, Visitor
from earnest.surfaces.dashboard.rendering import HEADERS, rendered_page
from earnest.surfaces.web.problems import STATUS
from earnest.views.metrics import PeriodCounts

Looking: TypeAlias = Callable[[Request, BooksReader], Look]
Reading: TypeAlias = Callable[[Callable[[BooksReader], Response]], Awaitable[Response]]
"""Reads the books beside the requests, at one moment."""
Shown: TypeAlias = tuple[str, dict[str, Any]]
"""A template, and what it is given."""

PAGES: Final[dict[str, Callable[[Look], Shown]]] = {
    "/": today.show_today,
    "/jobs": jobs.show_board,
    "/jobs/new": jobs.show_form,
    "/jobs/{job_id}": jobs.show_job_page,
    "/claims/{claim_id}": jobs.show_claim_page,
    "/receipts/{claim_id}": jobs.show_record,
    "/claims/{claim_id}/evidence/{revision}/{number}": jobs.show_evidence,
    "/disputes/{dispute_id}": jobs.show_dispute_page,
    "/agents": agents.show_agents,
    "/agents/{handle}": agents.show_agent_page,
    "/runs": runs.show_runs,
    "/runs/{run_id}": runs.show_run_page,
    "/world": town.show_world,
    "/world/board/{thread_id}": town.show_thread,
    "/periods": periods.show_periods,
    "/periods/{period}": periods.show_periods,
    "/ledger": books.show_ledger,
    "/audit": books.show_audit,
    "/memory": books.show_memory,
}
EXPORTS: Final[dict[str, Callable[[Look], Response]]] = {
    "/charts/{chart}/{subject}.{form}": charts.show_chart,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How pages reach what they show: who looks, and the books."""

    look: Looking
    read: Callable[[Request], Reading]
    counts: PeriodCounts = field(default_factory=PeriodCounts)

    def page(self, show: Callable[[Look], Shown]) -> Callable[[Request], Awaitable[Response]]:
        """What answers the requests for a page."""

        async def answer(request: Request) -> Response:
            def rendered(reader: BooksReader) -> Response:
                look = self._look(request, reader)
                try:
                    template, given = show(look)
                    return HTMLResponse(rendered_page(template, look, **given), 200, HEADERS)
                except Refused as refused:
                    return refusal(look, refused)

            return await self.read(request)(rendered)

        return answer

    def export(self, show: Callable[[Look], Response]) -> Callable[[Request], Awaitable[Response]]:
        """What answers the requests for a file that is made from the books."""

        async def answer(request: Request) -> Response:
            return await self.read(request)(lambda reader: show(self._look(request, reader)))

        return answer

    def _look(self, request: Request, reader: BooksReader) -> Look:
        return replace(self.look(request, reader), counts=self.counts)


def refusal(look: Look, refused: Refused) -> Response:
    """A page that says no; strangers are asked who they are."""
    status = STATUS.get(refused.code, 404)
    if status == 401 and look.visitor is Visitor.STRANGER:
        return RedirectResponse(f"/login?next={quote(look.path)}", 303, HEADERS)
    return HTMLResponse(rendered_page("refused.html", look, title="No", told=str(refused)), status, HEADERS)
