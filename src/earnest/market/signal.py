"""What did somebody do that others should know of?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A reputation event (`late_cancel`, `missed_deadline`, `late`, …): one for each end or lapse of a claim.

    `id` is `<claim>/<kind>`, so the same thing never counts twice.
    """

    id: str
    account_id: str
    kind: str
    claim_id: str
    at_ms: int
    weight: int = 1
