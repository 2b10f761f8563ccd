"""Whether somebody is as present as they mean to be, and when their owner must hear of it.

Market ruling a.3 and its points A26 and A27. Every duration is in whole seconds.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from earnest.market.disputes.dispute import CLOSED, Dispute

SILENT_S: Final = 86_400
UNREAD_S: Final = 86_400
UNREAD_MAX: Final = 1
"""Disputes that may lie unread for longer than `UNREAD_S` before the owner hears of it."""


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
