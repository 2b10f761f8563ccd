"""Is the process alive, can it work, and what has it done? For the machines of the operator."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from fastapi import APIRouter
from starlette.responses import Response

from earnest.surfaces.web.calls import rendered
from earnest.surfaces.web.metrics import CONTENT_TYPE, Metrics

Readiness: TypeAlias = Mapping[str, Callable[[], Awaitable[str]]]
"""What must be in order for work to be taken, by name; each says what is wrong, or nothing."""


def health_router(readiness: Readiness, metrics: Metrics) -> APIRouter:
    """`/healthz`, `/readyz`, `/metrics`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def healthz() -> Response:
        """The process answers."""
        return rendered({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        """All that is needed is there."""
        wrong = {name: why for name, ask in readiness.items() if (why := await ask())}
        return rendered({"status": "unready" if wrong else "ready", "wrong": wrong}, 503 if wrong else 200)

    @router.get("/metrics")
    async def show_metrics() -> Response:
        """Counts since the start."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return router
