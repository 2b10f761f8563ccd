"""When it is worth looking again. Advice: who looks earlier makes no mistake. (Market ruling a.3, A24)"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.market.claims.claim import WORKING, Claim, ClaimState
from earnest.market.jobs.job import TaskClass

SHORT_CLAIM_S: Final = 2 * 3_600
LONG_CLAIM_S: Final = 48 * 3_600
INACTIVE_S: Final = 7 * 86_400
EARLIEST_S: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LookPace:
    """Seconds between two looks, and the rule that says so. `is_exact`: no jitter is added."""

    base_s: int
    rule: str
    is_exact: bool = False


CAPACITY_BOUND: Final = LookPace(base_s=300, rule="an open claim has at most 2 h in all")
SLOW: Final = LookPace(
    base_s=14_400, rule="open claims, all subjective with at least 48 h in all, and nothing of class 1 to 4"
)
INACTIVE: Final = LookPace(
    base_s=86_400, rule="no open claim, nothing of class 1 to 4, neither a claim nor a posted job in 7 days"
)
ACTIVE: Final = LookPace(base_s=1_800, rule="otherwise")
SENT_BACK: Final = "work that may be sent back: twice in the shortest time for changes"
JUDGED_NEXT: Final = frozenset({ClaimState.SUBMITTED, ClaimState.VERIFIED})
"""States from which changes can be requested at any moment."""


def pace(claims: Sequence[Claim], *, is_pressed: bool, is_recent: bool) -> LookPace:
    """Of a seller with these claims, which have not ended. Only a claim that is worked on has a length.

    `is_pressed`: there is something of class 1 to 4; `is_recent`: a claim or a posted job in the last 7 days.
    """
    found = _pace(claims, is_pressed=is_pressed, is_recent=is_recent)
    within_s = answer_within_s(claims)
    return found if within_s is None or found.base_s <= within_s else LookPace(base_s=within_s, rule=SENT_BACK)


def answer_within_s(claims: Sequence[Claim]) -> int | None:
    """How soon to look so that no change request passes unseen: half of the shortest time that one would leave."""
    times = (claim.revise_s for claim in claims if claim.state in JUDGED_NEXT and claim.revisions_left)
    shortest = min(times, default=None)
    return None if shortest is None else max(shortest // 2, EARLIEST_S)


def _pace(claims: Sequence[Claim], *, is_pressed: bool, is_recent: bool) -> LookPace:
    lengths = [total_s(claim) for claim in claims if claim.state in WORKING]
    if any(length <= SHORT_CLAIM_S for length in lengths):
        return CAPACITY_BOUND
    if is_pressed:
        return ACTIVE
    if not claims:
        return ACTIVE if is_recent else INACTIVE
    is_slow = all(claim.task_class == TaskClass.SUBJECTIVE for claim in claims)
    return SLOW if is_slow and all(length >= LONG_CLAIM_S for length in lengths) else ACTIVE


def total_s(claim: Claim) -> int:
    """The length of the obligation under way."""
    return (claim.due_at_ms - claim.start_at_ms) // 1_000


def jitter_s(account_id: str, base_s: int) -> int:
    """A tenth of `base_s`, more or less, the same for one agent always: so that not all come at once."""
    tenth = base_s // 10
    number = int.from_bytes(hashlib.sha256(account_id.encode()).digest()[:8], "big")
    return number % (2 * tenth + 1) - tenth


def next_check_ms(account_id: str, pace: LookPace, boundary_ms: int | None, now_ms: int) -> int:
    """The instant at which to look again: not past the next boundary, then the jitter, and never within a minute."""
    earliest_ms = now_ms + EARLIEST_S * 1_000
    wanted_ms = now_ms + pace.base_s * 1_000
    if boundary_ms is not None:
        wanted_ms = max(min(wanted_ms, boundary_ms), earliest_ms)
    if pace.is_exact:
        return wanted_ms
    return max(wanted_ms + jitter_s(account_id, pace.base_s) * 1_000, earliest_ms)
