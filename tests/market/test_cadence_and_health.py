"""How soon to look again, and how a gap is judged."""

from typing import Any

import pytest

from earnest.foundation.instants import DAY_MS, HOUR_MS
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.disputes.dispute import Dispute
from earnest.market.homes.cadence import (
    HeartbeatHealth,
    LookPace,
    health,
    jitter_s,
    next_check_ms,
    piles_at_ms,
    silent_after_s,
)

from .homes import ME, NOW, claim, dispute, home, unreviewed

LONG: dict[str, Any] = {"hours": 48, "task_class": "subjective", "left_s": 40 * 3_600}

PACES: list[tuple[str, dict[str, Any], int]] = [
    ("nobody has claimed or posted", {}, 86_400),
    ("the last claim or job is 7 days old", {"busy_at_ms": NOW - 7 * DAY_MS}, 86_400),
    ("it is a second younger", {"busy_at_ms": NOW - 7 * DAY_MS + 1_000}, 1_800),
    ("a dispute waits", {"disputes": (dispute(),)}, 1_800),
    ("a review is held", {"reviews": (unreviewed(is_held=True),)}, 1_800),
    ("a review is open", {"reviews": (unreviewed(is_held=False),)}, 86_400),
    ("a claim of 2 h", {"claims": (claim(hours=2, left_s=7_000),)}, 300),
    ("a claim of 2 h beside long ones", {"claims": (claim("clm_2", **LONG), claim(hours=2, left_s=7_000))}, 300),
    ("a claim of 3 h", {"claims": (claim(hours=3, left_s=10_000),)}, 1_800),
    ("a short claim that was handed in", {"claims": (claim(hours=1, state=ClaimState.SUBMITTED),)}, 1_800),
    ("subjective work that may come back", {"claims": (claim(**LONG, state=ClaimState.SUBMITTED, revise_s=600),)}, 300),
    ("the same by the minute", {"claims": (claim(**LONG, state=ClaimState.VERIFIED, revise_s=60),)}, 60),
    (
        "the same without a revision left",
        {"claims": (claim(**LONG, state=ClaimState.SUBMITTED, revise_s=60, revisions_left=0),)},
        14_400,
    ),
    ("a subjective claim of 48 h", {"claims": (claim(**LONG),)}, 14_400),
    ("an objective one of 48 h", {"claims": (claim(hours=48, left_s=40 * 3_600),)}, 1_800),
    ("a subjective one of 47 h", {"claims": (claim(**{**LONG, "hours": 47}),)}, 1_800),
    ("a subjective one that is due soon", {"claims": (claim(**{**LONG, "left_s": 3_600}),)}, 1_800),
]


@pytest.mark.parametrize(("read", "expected"), [case[1:] for case in PACES], ids=[case[0] for case in PACES])
def test_the_pace_follows_from_claims_pressure_and_rest(read: dict[str, Any], expected: int) -> None:
    assert home(**read).pace.base_s == expected


def test_the_jitter_is_a_tenth_at_most_and_an_agents_own() -> None:
    jitters = [jitter_s(f"act_{number}", 1_800) for number in range(500)]
    assert min(jitters) >= -180
    assert max(jitters) <= 180
    assert len(set(jitters)) > 100
    assert jitters == [jitter_s(f"act_{number}", 1_800) for number in range(500)]


@pytest.mark.parametrize(
    ("base_s", "boundary_s", "expected_s"),
    [(1_800, None, 1_800), (1_800, 9_000, 1_800), (1_800, 600, 600), (1_800, 5, 60), (300, None, 300)],
)
def test_one_looks_again_at_the_next_boundary_at_the_latest_and_not_within_a_minute(
    base_s: int, boundary_s: int | None, expected_s: int
) -> None:
    for number in range(50):
        name = f"act_{number}"
        boundary_ms = None if boundary_s is None else NOW + boundary_s * 1_000
        at = next_check_ms(name, LookPace(base_s=base_s, rule=""), boundary_ms, NOW)
        assert at == max(NOW + 60_000, NOW + (expected_s + jitter_s(name, base_s)) * 1_000)


@pytest.mark.parametrize(
    ("gap_s", "expected_s", "found"),
    [
        (0, 1_800, HeartbeatHealth.GREEN),
        (2_700, 1_800, HeartbeatHealth.GREEN),
        (2_701, 1_800, HeartbeatHealth.YELLOW),
        (86_400, 1_800, HeartbeatHealth.YELLOW),
        (86_401, 1_800, HeartbeatHealth.RED),
        (129_600, 86_400, HeartbeatHealth.GREEN),
        (129_601, 86_400, HeartbeatHealth.RED),
    ],
)
def test_health_is_green_up_to_one_and_a_half_times_red_after_a_day(
    gap_s: int, expected_s: int, found: HeartbeatHealth
) -> None:
    assert health(gap_s, expected_s) is found
    assert (gap_s > silent_after_s(expected_s)) is (found is HeartbeatHealth.RED)


PILES: list[tuple[str, tuple[Dispute, ...], int | None]] = [
    ("none", (), None),
    ("one within its time", (dispute(respond_by_ms=NOW),), NOW + 1_000),
    ("one that waits for the other side", (dispute(awaiting="raiser", respondent_unread=1),), None),
    (
        "two unread",
        (
            dispute("dsp_1", awaiting="", last_message_at_ms=NOW - 2 * HOUR_MS),
            dispute("dsp_2", awaiting="", last_message_at_ms=NOW),
        ),
        NOW + DAY_MS,
    ),
    ("one unread", (dispute(awaiting="", last_message_at_ms=NOW - 9 * DAY_MS),), None),
]


@pytest.mark.parametrize(("disputes", "expected"), [case[1:] for case in PILES], ids=[case[0] for case in PILES])
def test_disputes_pile_up_one_past_its_time_or_two_unread_for_a_day(
    disputes: tuple[Dispute, ...], expected: int | None
) -> None:
    assert piles_at_ms(disputes, ME) == expected


def test_open_claims_without_a_deadline_of_mine_do_not_set_the_pace() -> None:
    waiting: tuple[Claim, ...] = (claim(hours=1, task_class="subjective", state=ClaimState.SUBMITTED),)
    assert home(claims=waiting).pace.base_s == 14_400
