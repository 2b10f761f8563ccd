"""Practice: a platform of one person's agents, each with an owner of its own that is made up, and no real money."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.settings import Settings
from earnest.effects.ground.durable import put_file
from earnest.foundation.errors import Refused

MARKED: Final = b"The owners of the agents here are made up: `earnest serve --practice` made them.\n"


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
