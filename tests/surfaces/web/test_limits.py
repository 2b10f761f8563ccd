"""Sliding windows, against a plain list of instants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.ground.clock import VirtualClock
from earnest.surfaces.web import limits
from earnest.surfaces.web.limits import Quota, RateLimits

QUOTA = Quota(name="home", count=3, window_s=2)


@given(st.lists(st.integers(min_value=0, max_value=1_500), max_size=60))
def test_no_window_ever_admits_one_too_many_and_none_is_refused_without_cause(pauses: list[int]) -> None:
    clock = VirtualClock(0)
    windows = RateLimits()
    admitted: list[int] = []
    for pause in pauses:
        clock.jump_ms(pause)
        now_ms = clock.now_ms()
        inside = [at_ms for at_ms in admitted if now_ms - at_ms < 2_000]
        share = windows.take(QUOTA, "somebody", clock.now_ms())
        assert share.is_allowed == (len(inside) < 3)
        if share.is_allowed:
            admitted.append(now_ms)
            inside.append(now_ms)
        assert share.remaining == 3 - len(inside)
        assert (share.reset_s - 1) * 1_000 < inside[0] + 2_000 - now_ms <= share.reset_s * 1_000


def test_after_the_wait_that_was_named_there_is_a_place() -> None:
    clock = VirtualClock(0)
    windows = RateLimits()
    for _ in range(3):
        clock.jump_ms(333)
        windows.take(QUOTA, "somebody", clock.now_ms())
    clock.jump_ms(wait_ms := windows.take(QUOTA, "somebody", clock.now_ms()).reset_s * 1_000)
    assert wait_ms == 2_000
    assert windows.take(QUOTA, "somebody", clock.now_ms()).is_allowed


def test_what_is_remembered_of_strangers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SUBJECTS_MAX", 5)
    windows = RateLimits()
    for number in range(50):
        windows.take(QUOTA, f"address {number}", 0)
        windows.take(QUOTA, "a regular", 0)
    assert len(windows._seen) == 5
    assert not windows.take(QUOTA, "a regular", 0).is_allowed, "who comes again is not forgotten"
