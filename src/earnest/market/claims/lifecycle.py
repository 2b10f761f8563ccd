"""Steps of a claim: by whom, from where, to where. `claims_fsm.json` is the table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from earnest.foundation.errors import Refused
from earnest.market.claims.claim import Actor, Claim, ClaimState
from earnest.market.claims.deadlines import frozen
from earnest.verification.verdict import Answer

SAME: Final = "same"
PREVIOUS: Final = "previous"
"""Where the claim was before it was disputed."""

PARTIES: Final = frozenset({Actor.SELLER, Actor.BUYER, Actor.BOTH, Actor.EITHER, Actor.RAISER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row of the table. `target` is a state, `same` or `previous`; `ledger` is `post_hold`, `void_hold` or empty.

    `guard` and `effect` are words for people; the functions of the claim's steps hold to them.
    """

    event: str
    sources: frozenset[ClaimState]
    actors: frozenset[Actor]
    target: str
    ledger: str = ""
    guard: str = ""
    effect: str = ""


def _transition(row: Mapping[str, Any]) -> Transition:
    return Transition(
        event=row["event"],
        sources=frozenset(map(ClaimState, row["from"])),
        actors=frozenset(map(Actor, row["actor"].split("|"))),
        target=row["to"] if row["to"] in {SAME, PREVIOUS} else ClaimState(row["to"]),
        ledger=row.get("ledger", ""),
        guard=row.get("guard", ""),
        effect=row.get("effect", ""),
    )


_TABLE: Final = json.loads(files("earnest.market.claims").joinpath("claims_fsm.json").read_text(encoding="utf-8"))
TRANSITIONS: Final = tuple(_transition(row) for row in _TABLE["transitions"])
_ROWS: Final = {
    (source, row.event, row.target is ClaimState.VERIFIED and row.event == "clock:revise_ended"): row
    for row in TRANSITIONS
    for source in row.sources
}


def transition(state: ClaimState, event: str, *, was_verified: bool = False) -> Transition:
    """The row for an event in a state; of two, that whose guard is `was_verified` where the work is.

    Raises `Refused`: `claim_expired` for one that has expired, else `claim_state` with `state` and `allowed_events`.
    """
    row = _ROWS.get((state, event, was_verified)) or _ROWS.get((state, event, False))
    if row is None:
        raise refusal(state, f"a claim that is {state} does not take the step {event!r}")
    return row


def allowed_events(state: ClaimState) -> tuple[str, ...]:
    """The steps that the parties of a claim can take in a state, in the order of the table."""
    return tuple(row.event for row in TRANSITIONS if state in row.sources and row.actors & PARTIES)


def step(claim: Claim, event: str, actor: Actor) -> ClaimState:
    """The state that an event leads to. Raises `Refused` as `transition` does, and `not_a_party` for another's step."""
    row = transition(claim.state, event, was_verified=claim.verdict == Answer.VERIFIED)
    either = Actor.EITHER in row.actors and actor in {Actor.SELLER, Actor.BUYER}
    if actor not in row.actors and not either:
        raise Refused("not_a_party", f"{event} is a step of the {' or the '.join(sorted(row.actors))}")
    if row.target == PREVIOUS:
        return frozen(claim).state
    return claim.state if row.target == SAME else ClaimState(row.target)


def refusal(state: ClaimState, message: str) -> Refused:
    """Why a step cannot be taken in a state: `claim_expired`, or `claim_state` with what can be done instead."""
    if state is ClaimState.EXPIRED:
        return Refused("claim_expired", "the claim has expired: its time was over before evidence came")
    return Refused("claim_state", message, state=state.value, allowed_events=list(allowed_events(state)))
