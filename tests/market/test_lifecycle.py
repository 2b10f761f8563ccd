"""Does a claim take the steps of the table, and no others?"""

import json
from importlib.resources import files
from itertools import product

import pytest

from earnest.foundation.errors import Refused
from earnest.market.claims.claim import TERMINAL, Actor, ClaimState
from earnest.market.claims.lifecycle import PREVIOUS, SAME, TRANSITIONS, allowed_events, step

from .claims import claim_in

TABLE = json.loads(files("earnest.market.claims").joinpath("claims_fsm.json").read_text(encoding="utf-8"))
EVENTS = sorted({row["event"] for row in TABLE["transitions"]})
LEGAL = {(ClaimState(source), row["event"]): row for row in reversed(TABLE["transitions"]) for source in row["from"]}
"""Of two rows for one event the first: the other is for work that was verified before."""
ILLEGAL = sorted(set(product(ClaimState, EVENTS)) - set(LEGAL))


def test_the_table_has_38_steps_between_13_states() -> None:
    assert len(TABLE["transitions"]) == len(TRANSITIONS) == 38
    assert len(ClaimState) == 13
    assert len(LEGAL) == sum(len(row["from"]) for row in TABLE["transitions"]) - 1


def test_the_ends_of_the_table_are_the_terminal_states_and_have_no_way_out() -> None:
    assert {ClaimState(state) for state in TABLE["terminal"]} == TERMINAL
    assert not {source for source, _ in LEGAL} & TERMINAL


@pytest.mark.parametrize(("state", "event"), sorted(LEGAL))
def test_a_step_of_the_table_leads_where_the_table_says(state: ClaimState, event: str) -> None:
    row = LEGAL[state, event]
    actor = {"either": Actor.BUYER}.get(row["actor"]) or Actor(row["actor"].split("|")[0])
    expected = {SAME: state, PREVIOUS: ClaimState.DECLINED}.get(row["to"]) or ClaimState(row["to"])
    assert step(claim_in(state), event, actor) is expected


@pytest.mark.parametrize(("state", "event"), sorted(LEGAL))
def test_a_step_is_refused_to_all_whom_the_table_does_not_name(state: ClaimState, event: str) -> None:
    named = set(LEGAL[state, event]["actor"].split("|"))
    if "either" in named:
        named |= {"seller", "buyer"}
    for actor in set(Actor) - {Actor(name) for name in named}:
        with pytest.raises(Refused) as refused:
            step(claim_in(state), event, actor)
        assert refused.value.code == "not_a_party"


@pytest.mark.parametrize(("state", "event"), ILLEGAL)
def test_a_step_that_the_table_does_not_have_is_refused_to_everybody(state: ClaimState, event: str) -> None:
    for actor in Actor:
        with pytest.raises(Refused) as refused:
            step(claim_in(state), event, actor)
        if state is ClaimState.EXPIRED:
            assert refused.value.code == "claim_expired"
        else:
            assert refused.value.code == "claim_state"
            assert refused.value.details == {"state": state.value, "allowed_events": list(allowed_events(state))}


def test_an_unknown_event_is_refused_like_an_illegal_one() -> None:
    with pytest.raises(Refused, match="does not take the step 'steal'"):
        step(claim_in(ClaimState.SUBMITTED), "steal", Actor.BUYER)


def test_the_allowed_events_are_those_that_a_party_can_take() -> None:
    assert allowed_events(ClaimState.DECLINED) == ("concede", "undecline", "dispute_confirmed")
    assert allowed_events(ClaimState.RELEASING) == ()
    assert not any(
        event.startswith(("clock:", "verifier_", "ruled_")) for s in ClaimState for event in allowed_events(s)
    )
