"""Is an order the same after a crash, and is what is no order refused?"""

import json
from pathlib import Path

import pytest

from earnest.contracts.playbook_reading import parse_playbook
from earnest.engine.messages import Budget
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Faulty
from earnest.runtime.order import (
    REQUEST_CHARACTERS_MAX,
    SESSION_TURNS_MAX,
    Grants,
    Order,
    PlaybookOrder,
    order_from_json,
    request_order,
)

from .fakes import PLAYBOOK

BUDGET = Budget(time_ms=1_000, cost_micro=None, tokens=5, model_calls=2)
GRANTS = Grants(write=(Path("/a"),), network=True, approved=("shell ls",))
WORDS = request_order("räum auf", BUDGET, Path("/x"), GRANTS, "one", "two")
BOOK = PlaybookOrder(
    playbook=parse_playbook(PLAYBOOK, "p"), source="p", folder=Path("/x"), inputs={"in": Path("/y")}, grants=GRANTS
)


@pytest.mark.parametrize("order", [WORDS, BOOK])
def test_an_order_is_read_back_as_it_was_written_down(order: Order) -> None:
    assert order_from_json(json.loads(json.dumps(order.to_json()))) == order


def test_an_order_of_a_version_that_knew_no_actions_confirmed_beforehand_is_read() -> None:
    body: JsonObject = {**BOOK.to_json(), "grants": {"write": [], "network": False}}
    assert order_from_json(body).grants == Grants()


@pytest.mark.parametrize(
    "body", [{}, {"playbook": {}}, {**WORDS.to_json(), "grants": {}}, {**WORDS.to_json(), "replans": "3"}]
)
def test_what_no_version_of_ours_wrote_is_broken(body: JsonObject) -> None:
    with pytest.raises(Broken):
        order_from_json(body)


@pytest.mark.parametrize(
    ("words", "fault"),
    [("  \n", "says nothing"), ("x" * (REQUEST_CHARACTERS_MAX + 1), "longer than"), ("a\udcff", "no text")],
)
def test_words_that_are_no_task_are_named(words: str, fault: str) -> None:
    with pytest.raises(Faulty, match=fault):
        request_order(words, BUDGET, Path("/x"), Grants())


def test_of_a_session_the_newest_turns_are_kept() -> None:
    turns = [str(number) for number in range(SESSION_TURNS_MAX + 3)]
    assert request_order("go on", BUDGET, Path("/x"), Grants(), *turns).request.session == tuple(turns[3:])


def test_the_same_words_elsewhere_are_another_order() -> None:
    elsewhere = request_order("räum auf", BUDGET, Path("/y"), GRANTS, "one", "two")
    later = request_order("räum auf", BUDGET, Path("/x"), GRANTS, "one", "two", "three")
    richer = request_order("räum auf", Budget(time_ms=2), Path("/x"), Grants(), "one", "two")
    assert len({WORDS.digest, elsewhere.digest, later.digest}) == 3
    assert richer.digest == WORDS.digest
