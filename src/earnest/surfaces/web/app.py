"""The routes of the platform: one ASGI application over one market."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from earnest.effects.outside.mail.api import Mailer
from earnest.identity.key import KeyedHash
from earnest.journal.notary import Notary
from earnest.runtime.authentication import Authenticator
from earnest.runtime.market.market import Market
from earnest.runtime.market.presence import Presences
from earnest.runtime.own_runs import OwnRuns
from earnest.surfaces.dashboard.look import DataFolders
from earnest.surfaces.dashboard.served import dashboard_router
from earnest.surfaces.mcp.door import mount
from earnest.surfaces.web import (
    agents,
    artifacts,
    capabilities,
    claims,
    disputes,
    home,
    identity,
    jobs,
    log,
    pages,
    periods,
    runs,
    score,
    wallet,
    world,
)
from earnest.surfaces.web.calls import API
from earnest.surfaces.web.door import Door, House
from earnest.surfaces.web.home import HomePage
from earnest.surfaces.web.limits import Quotas, RateLimits
from earnest.surfaces.web.metrics import Readiness, RequestMetrics, health_router
from earnest.surfaces.web.refusing import refuse_in_problems
from earnest.surfaces.web.schema import schema_router
from earnest.surfaces.web.served import meta_router, served_router
from earnest.surfaces.web.world import Streams
from earnest.views.metrics import PeriodCounts

ROUTERS: Final[tuple[APIRouter, ...]] = (
    score.heartbeat_router,
    jobs.router,
    claims.router,
    identity.router,
    identity.operator_router,
    claims.review_router,
    disputes.router,
    capabilities.router,
    capabilities.trial_router,
    artifacts.router,
    agents.router,
    wallet.router,
    log.router,
    log.checkpoint_router,
    score.router,
    score.operator_router,
    periods.router,
    world.router,
    runs.router,
    home.router,
    meta_router,
)
"""What stands under `/api/v1`. Of two routes that fit a path the first takes it; what is asked most stands first."""
ROOT_ROUTERS: Final[tuple[APIRouter, ...]] = (jobs.root_router, log.checkpoint_router, log.page_router, pages.router)
"""What stands at the root: what agents look for there too, and pages for people."""


def create_app(
    market: Market,
    hashing: KeyedHash,
    *,
    url: str = "http://127.0.0.1:8420",
    quotas: Quotas | None = None,
    readiness: Readiness | None = None,
    gauges: Mapping[str, tuple[str, Callable[[], float]]] | None = None,
    presences: Presences | None = None,
    place: DataFolders | None = None,
    mailer: Mailer | None = None,
    notary: Notary | None = None,
    own: OwnRuns | None = None,
) -> FastAPI:
    """The application. `url` is the address by which the world reaches it, without a slash at its end.

    Whoever gives `presences` flushes them, ends what streams by `app.state.streams`, and shares `app.state.limits`.
    `place`: where runs, memory and the auditor's log lie, for the pages about them; `mailer`: what takes owners' links
    to them; `own`: what is decided about the runs of the same data directory; `notary`: what signs checkpoints and
    receipts.
    """
    quotas, metrics = quotas or Quotas(), RequestMetrics(gauges)
    limits = RateLimits(market.desk.clock)
    page = HomePage(market, presences or Presences(market.desk), log.NewestCheckpoint(market.desk, notary))
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.streams = streams = Streams()
    app.state.own, app.state.limits, app.state.quotas, app.state.home = own, limits, quotas, page
    app.state.counts = PeriodCounts()
    documents = schema_router(app)
    app.router.routes.extend(_lasting_routes())
    app.router.routes.extend(_routes(documents, API))
    served = served_router(app, url=url, terms=market.terms, quotas=quotas)
    dashboard = dashboard_router(place, mailer, limits, lambda: streams.is_ending)
    for router in (documents, health_router(readiness or {}, metrics), served, dashboard):
        app.router.routes.extend(router.routes)  # at the root and in no document, they need neither prefix nor id
    refuse_in_problems(app)
    house = House(
        market=market,
        authenticator=Authenticator(market.desk.database, hashing),
        limits=limits,
        quotas=quotas,
        metrics=metrics,
        home=page,
        url=url,
        notary=notary,
    )
    app.add_middleware(Door, house=house)
    mount(app, url=url, clock=market.desk.clock, chance=market.desk.chance)
    return app


def _routes(router: APIRouter, prefix: str) -> list[BaseRoute]:
    """A router's routes as an application's own: FastAPI searches a router that it includes ten times slower."""
    own = APIRouter(prefix=prefix, redirect_slashes=False, generate_unique_id_function=_operation_id)
    for route in router.routes:
        assert isinstance(route, APIRoute)
        own.add_api_route(
            route.path,
            route.endpoint,
            methods=list(route.methods or ()),
            name=route.name,
            response_model=route.response_model,
            response_class=route.response_class,
            status_code=route.status_code,
            responses=route.responses,
            tags=route.tags,
            include_in_schema=route.include_in_schema,
            openapi_extra=route.openapi_extra,
        )
    return own.routes


@cache
def _lasting_routes() -> tuple[BaseRoute, ...]:
    """Those that every application has alike, made once: they are most of the time that one takes to make."""
    below = [(API, router) for router in ROUTERS]
    below += [("/api", score.router), *(("", router) for router in ROOT_ROUTERS)]
    return tuple(route for prefix, router in below for route in _routes(router, prefix))


def _operation_id(route: APIRoute) -> str:
    """Method and path in one word, which no two operations have."""
    path = route.path.removeprefix(API) if route.path.startswith(API) else f"/root{route.path}"
    return re.sub(r"\W+", "_", f"{min(route.methods or ()).lower()}{path}").strip("_")
