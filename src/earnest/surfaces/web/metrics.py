"""What the machines of the operator see: health, readiness, and counts in the text format of Prometheus."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import Response

from earnest.surfaces.web.calls import rendered

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
Readiness: TypeAlias = Mapping[str, Callable[[], Awaitable[str]]]
"""What must be in order for work to be taken, by name; each says what is wrong, or nothing."""
_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class _Requests(dict[tuple[str, str, int], tuple[Counter, Histogram]]):
    """The count and the times of requests; each is made when it is first asked for."""

    def __init__(self, requests: Counter, seconds: Histogram) -> None:
        super().__init__()
        self._requests = requests
        self._seconds = seconds

    def __missing__(self, key: tuple[str, str, int]) -> tuple[Counter, Histogram]:
        method, route, status = key
        self[key] = found = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
        return found


class RequestMetrics:
    """Counts of this process, in a registry of their own. A request is known by the template of its path."""

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]] | None = None) -> None:
        """`gauges`: what is asked for when somebody looks, by name, each with what it means."""
        self._registry = CollectorRegistry()
        requests = Counter(
            "earnest_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        seconds = Histogram(
            "earnest_request_seconds", "Time to answer.", ("route",), registry=self._registry, buckets=_BUCKETS_S
        )
        self.of: Final = _Requests(requests, seconds)
        """By method, template of the path and status."""
        for name, (meaning, ask) in (gauges or {}).items():
            Gauge(f"earnest_{name}", meaning, registry=self._registry).set_function(ask)

    def text(self) -> bytes:
        """All of it, in the format of `CONTENT_TYPE`."""
        return generate_latest(self._registry)


def health_router(readiness: Readiness, metrics: RequestMetrics) -> APIRouter:
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
