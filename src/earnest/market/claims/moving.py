"""One step of a claim, and what it leaves behind."""

from dataclasses import dataclass
from typing import Any

from earnest.foundation.shapes import replace
from earnest.market.claims.claim import TERMINAL, Actor, Claim, ClaimState, weight_of
from earnest.market.claims.deadlines import deadline, with_wake
from earnest.market.claims.lifecycle import refusal, step, transition
from earnest.market.reviews.signal import Signal, SignalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTransition:
    """A step that was taken: what the claim is now, by which event, whose.

    `ledger` says what becomes of the holds: `post_hold`, `void_hold`, or nothing. `signals` are for the seller's name.
    """

    claim: Claim
    event: str
    actor: Actor
    ledger: str = ""
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStep:
    """A step that may be taken, to `target`."""

    claim: Claim
    event: str
    actor: Actor
    target: ClaimState
    ledger: str
    now_ms: int

    def taken(self, after: Claim | None = None, *signals: SignalKind) -> ClaimTransition:
        """The step, with the other changes in `after`. Who is to be paid or refunded is so at once."""
        times: dict[str, Any] = {}
        if self.target is not self.claim.state and self.target in {ClaimState.RELEASING, ClaimState.REFUNDING}:
            times = {"settle_at_ms": self.now_ms, "settle_tries": 0}
        elif self.target in TERMINAL:
            times = {"settle_at_ms": None, "ended_at_ms": self.now_ms}
        claim = replace(after or self.claim, state=self.target, **times)
        return ClaimTransition(
            claim=with_wake(claim),
            event=self.event,
            actor=self.actor,
            ledger=self.ledger,
            signals=tuple(_signal(claim, kind, self.now_ms) for kind in signals),
        )


def begin(claim: Claim, event: str, actor: Actor, now_ms: int) -> ClaimStep:
    """The step, if the table allows it now. What the clock owes comes first, even where it has not been at it yet.

    Raises `Refused`: `claim_expired`, `claim_state`, `not_a_party`.
    """
    target = step(claim, event, actor)
    due = deadline(claim)
    if actor is not Actor.CLOCK and due is not None and due.at_ms <= now_ms:
        owed = step(claim, due.event, Actor.CLOCK)
        raise refusal(owed, f"too late for {event!r}: the time of a claim that is {claim.state} has ended")
    ledger = transition(claim.state, event).ledger
    return ClaimStep(claim=claim, event=event, actor=actor, target=target, ledger=ledger, now_ms=now_ms)


def _signal(claim: Claim, kind: SignalKind, at_ms: int) -> Signal:
    return Signal(
        id=f"{claim.id}/{kind}",
        account_id=claim.seller,
        kind=kind.value,
        claim_id=claim.id,
        at_ms=at_ms,
        weight=weight_of(claim),
    )
