"""When it is worth looking again, and whether somebody looks as often as they mean to.

The first is advice: who looks earlier makes no mistake. Of the second their owner may have to hear. Market ruling a.3,
its points A24, A26 and A27.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.market.claims.claim import WORKING, Claim, ClaimState
from earnest.market.disputes.dispute import CLOSED, Dispute
from earnest.market.jobs.job import TaskClass

SHORT_CLAIM_S: Final = 2 * 3_600
LONG_CLAIM_S: Final = 48 * 3_600
INACTIVE_S: Final = 7 * 86_400
EARLIEST_S: Final = 60
SILENT_S: Final = 86_400
UNREAD_S: Final = 86_400
UNREAD_MAX: Final = 1
"""Disputes that may lie unread for longer than `UNREAD_S` before the owner hears of it."""


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


class HeartbeatHealth(StrEnum):
    """Of a heartbeat."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


def silent_after_s(expected_s: int) -> int:
    """The longest gap that is not yet silence: a day, or one and a half times what is expected if that is longer."""
    return max(SILENT_S, expected_s * 3 // 2)


def health(gap_s: int, expected_s: int) -> HeartbeatHealth:
    """What a gap since the last check-in says. Who checks in daily has no yellow."""
    if gap_s > silent_after_s(expected_s):
        return HeartbeatHealth.RED
    return HeartbeatHealth.GREEN if 2 * gap_s <= 3 * expected_s else HeartbeatHealth.YELLOW


def is_awaited(dispute: Dispute, account_id: str) -> bool:
    """True where the case waits for this party."""
    return dispute.state not in CLOSED and dispute.awaiting == dispute.role_of(account_id)


def unread(dispute: Dispute, account_id: str) -> int:
    """Messages that this party has not read."""
    return dispute.raiser_unread if account_id == dispute.raiser else dispute.respondent_unread


def piles_at_ms(disputes: Iterable[Dispute], account_id: str) -> int | None:
    """Since or from when disputes wait for this party too long: one past `respond_by`, or two unread for a day."""
    live = [dispute for dispute in disputes if dispute.state not in CLOSED]
    late = [one.respond_by_ms + 1_000 for one in live if one.respond_by_ms is not None and is_awaited(one, account_id)]
    old = sorted(
        (one.last_message_at_ms or one.opened_at_ms) + UNREAD_S * 1_000 for one in live if unread(one, account_id)
    )
    return min([*late, *old[UNREAD_MAX : UNREAD_MAX + 1]], default=None)
