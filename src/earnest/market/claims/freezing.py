"""What a dispute stops, and how it goes on."""

import json
from dataclasses import dataclass

from earnest.market.claims.claim import SECOND_MS, Claim, ClaimState


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """`state` is where the claim was at `at_ms`, with `left_ms` to go. At `limit_ms` the last verdict decides."""

    state: ClaimState
    at_ms: int
    left_ms: int
    limit_ms: int

    def text(self) -> str:
        """As `Claim.frozen` holds it."""
        values = {"at_ms": self.at_ms, "left_ms": self.left_ms, "limit_ms": self.limit_ms, "state": self.state.value}
        return json.dumps(values)

    def pause_ms(self, now_ms: int, least_s: int) -> int:
        """By how much the clocks move when it goes on: the time of the dispute, and what is missing to `least_s`."""
        return now_ms - self.at_ms + max(0, least_s * SECOND_MS - self.left_ms)


def frozen(claim: Claim) -> Frozen:
    """What a disputed claim was."""
    values = json.loads(claim.frozen)
    return Frozen(
        state=ClaimState(values["state"]),
        at_ms=values["at_ms"],
        left_ms=values["left_ms"],
        limit_ms=values["limit_ms"],
    )
