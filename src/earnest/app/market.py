"""The market over opened books, as a server and a worker have it."""

from earnest.app.artifacts import artifact_store
from earnest.app.reviews import reviews_in
from earnest.app.settings import Settings
from earnest.app.verifiers import verifier_for
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.hands.sandbox.api import Sandbox
from earnest.effects.outside.web.fetching import Web
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.verification.registry import Registry


def market_of(settings: Settings, desk: Desk, sandbox: Sandbox, clock: Clock, chance: Chance) -> Market:
    """The market of these settings."""
    reviews = reviews_in(desk.database, clock)
    return Market(
        desk=desk,
        terms=settings.market,
        verifier=verifier_for(settings, sandbox, clock=clock, chance=chance, reviews=reviews),
        registry=Registry(),
        artifacts=artifact_store(settings),
        web=Web(clock),
    )
