"""The market over opened books, as a server and a worker have it, and the one that is for practice.

Practice: a platform of one person's agents, each with an owner of its own that is made up, and no real money.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.artifacts import artifact_store
from earnest.app.reviews import reviews_in
from earnest.app.settings import Settings
from earnest.app.verifiers import verifier_for
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.durable import put_file
from earnest.effects.hands.sandbox.api import Sandbox
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.foundation.errors import Refused
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

MARKED: Final = b"The owners of the agents here are made up: `earnest serve --practice` made them.\n"


def market_of(settings: Settings, desk: Desk, sandbox: Sandbox, clock: Clock, chance: Chance) -> Market:
    """The market of these settings."""
    reviews = reviews_in(desk.database, clock)
    verifier = verifier_for(settings, sandbox, clock=clock, chance=chance, reviews=reviews)
    return market_over(desk, settings.market, verifier, artifact_store(settings))


def market_over(desk: Desk, terms: Terms, verifier: Verifier, artifacts: ArtifactStore) -> Market:
    """A market by these terms, judged by this verifier."""
    web = Web(desk.clock)
    return Market(desk=desk, terms=terms, verifier=verifier, registry=Registry(), artifacts=artifacts, web=web)


def practising(settings: Settings) -> Settings:
    """The settings of a practice platform: no money comes in from outside or leaves, and nobody gets mail."""
    inside = {name: replace(one, can_pay_out=False) for name, one in settings.market.currencies.items()}
    market = replace(settings.market, practice=True, currencies=inside)
    return replace(settings, market=market, mail=replace(settings.mail, host=""))


def keep_apart(home: Path, *, practice: bool) -> None:
    """Mark the data directory of a practice platform before its books are made.

    Raises `Refused("practice_home")` where practice would meet a real platform, in either direction.
    """
    mark = places.practice(home)
    if mark.exists() and not practice:
        raise Refused("practice_home", f"{home} is for practice, its owners are made up: serve it with --practice")
    if practice and not mark.exists():
        if places.books(home).exists():
            raise Refused("practice_home", f"{home} has books that are not for practice: give --home another folder")
        put_file(mark, MARKED)
