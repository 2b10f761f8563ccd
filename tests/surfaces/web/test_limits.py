"""Sliding windows, against a plain list of instants, and shared by servers."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.foundation.errors import Unavailable
from earnest.surfaces.web import limits, sharing
from earnest.surfaces.web.limits import Quota, RateLimits
from earnest.surfaces.web.sharing import SharedLimits

QUOTA = Quota(name="home", count=3, window_s=2)


@given(st.lists(st.integers(min_value=0, max_value=1_500), max_size=60))
def test_no_window_ever_admits_one_too_many_and_none_is_refused_without_cause(pauses: list[int]) -> None:
    clock = VirtualClock(0)
    windows = RateLimits(clock)
    admitted: list[int] = []
    for pause in pauses:
        clock.jump_ms(pause)
        now_ms = clock.now_ms()
        inside = [at_ms for at_ms in admitted if now_ms - at_ms < 2_000]
        share = windows.take(QUOTA, "somebody")
        assert share.is_allowed == (len(inside) < 3)
        if share.is_allowed:
            admitted.append(now_ms)
            inside.append(now_ms)
        assert share.remaining == 3 - len(inside)
        assert (share.reset_s - 1) * 1_000 < inside[0] + 2_000 - now_ms <= share.reset_s * 1_000


def test_after_the_wait_that_was_named_there_is_a_place() -> None:
    clock = VirtualClock(0)
    windows = RateLimits(clock)
    for _ in range(3):
        clock.jump_ms(333)
        windows.take(QUOTA, "somebody")
    clock.jump_ms(wait_ms := windows.take(QUOTA, "somebody").reset_s * 1_000)
    assert wait_ms == 2_000
    assert windows.take(QUOTA, "somebody").is_allowed


def test_what_is_remembered_of_strangers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SUBJECTS_MAX", 5)
    windows = RateLimits(VirtualClock(0))
    for number in range(50):
        windows.take(QUOTA, f"address {number}")
        windows.take(QUOTA, "a regular")
    assert len(windows._seen) == 5
    assert not windows.take(QUOTA, "a regular").is_allowed, "who comes again is not forgotten"


HOURLY = Quota(name="register", count=2, window_s=3_600)


@pytest.fixture
def servers(books: Books, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SharedLimits]]:
    """Two of them, and a third that begins later, all at one virtual instant."""
    clock = VirtualClock()
    monkeypatch.setattr(sharing, "_WORLD", clock)
    with ExitStack() as stack:
        first = stack.enter_context(closing(Database.open(books, SystemClock())))
        other = first
        if isinstance(books, ServerBooks):
            other = stack.enter_context(closing(Database.open(books, SystemClock())))
        found = [SharedLimits(RateLimits(clock), database, name) for database, name in ((first, "a"), (other, "b"))]
        found.append(SharedLimits(RateLimits(clock), other, "c"))
        for server in found:
            server.limits.shares = True
        yield found


def taken(server: SharedLimits, quota: Quota = QUOTA) -> bool:
    return server.limits.take(quota, "somebody").is_allowed


async def test_a_limit_is_one_over_all_servers(servers: list[SharedLimits]) -> None:
    first, second, third = servers
    assert [taken(first), taken(first), taken(second)] == [True] * 3
    await first.tell()
    await second.tell()
    assert not taken(second), "of three places the first server has given two"
    assert taken(first), "it has not been told yet, and tells first"
    await first.tell()
    await second.tell()
    assert not taken(first)
    assert not taken(second), "it hears of what was told when it has nothing to tell, too"
    await third.tell()
    assert not taken(third), "whoever begins later knows what was counted"


async def test_what_counts_no_more_is_gone_and_the_rest_stays(servers: list[SharedLimits]) -> None:
    first, second, third = servers
    clock = first.limits._clock
    assert isinstance(clock, VirtualClock)
    assert [taken(first), taken(first, HOURLY), taken(first, HOURLY)] == [True] * 3
    await first.tell()
    clock.jump_ms(QUOTA.window_s * 1_000)
    assert taken(second)
    await second.tell()
    rows = first.database.read_sync(lambda reader: reader.execute("SELECT until_ms FROM request_counts").fetchall())
    assert len(rows) == 2, "the minute that has passed is no row any more"
    await third.tell()
    assert not taken(third, HOURLY)
    clock.jump_ms(HOURLY.window_s * 1_000)
    assert [taken(third, HOURLY), taken(third)] == [True, True]


@pytest.mark.slow
async def test_what_could_not_be_told_is_told_the_next_time(
    servers: list[SharedLimits], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = servers

    async def away(*_: object) -> None:
        raise Unavailable("the database went away")

    for _ in range(3):
        taken(first)
    with monkeypatch.context() as patched:
        patched.setattr(first.database, "write", away)
        with pytest.raises(Unavailable):
            await first.tell()
    await first.tell()
    await second.tell()
    assert not taken(second)


async def test_what_was_given_back_is_nobodys(servers: list[SharedLimits]) -> None:
    first, second, _ = servers
    for _ in range(3):
        taken(first)
    first.limits.give_back(QUOTA, "somebody")
    await first.tell()
    await second.tell()
    assert taken(second)


async def test_no_request_is_a_write_and_an_idle_server_writes_nothing(servers: list[SharedLimits]) -> None:
    first, *_ = servers
    for number in range(500):
        first.limits.take(QUOTA, f"agent {number}")
    await first.tell()
    await first.tell()
    rows = first.database.read_sync(lambda reader: reader.execute("SELECT number FROM request_counts").fetchall())
    assert rows == [(1,)]
