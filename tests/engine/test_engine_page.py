"""Does the page about the engine name every message with those who send and hear it?"""

import re
from pathlib import Path

from engine_stage import Stage

from earnest.engine.codec import SENDERS
from earnest.engine.engine import Engine
from earnest.engine.messages import Role
from earnest.engine.participant import Participant

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"


def rows() -> dict[str, tuple[set[str], set[str]]]:
    """Message to senders and hearers, as the page has them."""
    found = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: (set(re.findall(r"\w+", senders)), set(re.findall(r"\w+", hears))) for name, senders, hears in found}


def roles() -> list[Participant[object]]:
    stage = Stage()
    return [role for role, _ in Engine(bus=stage.bus, clock=stage.clock, recall=stage.recall)._inboxes]


def test_the_page_names_every_message_with_its_senders() -> None:
    assert {name: senders for name, (senders, _) in rows().items()} == {
        kind.__name__: set(map(str, senders)) for kind, senders in SENDERS.items()
    }


def test_the_page_names_everybody_who_hears_a_message() -> None:
    assert {name: hearers for name, (_, hearers) in rows().items()} == {
        kind.__name__: {str(role.role) for role in roles() if kind in role.hears} for kind in SENDERS
    }


def test_everybody_who_may_send_is_a_role_of_the_engine_or_stands_outside_it() -> None:
    senders = set().union(*SENDERS.values())
    assert senders - {role.role for role in roles()} == {Role.USER, Role.WATCHDOG, Role.RUNTIME}
