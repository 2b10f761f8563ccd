"""Whatever happens, in whatever order: the floor never falls, no point is lost, and facts alone make the same books."""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from earnest.accountability.heartbeat import CheckInState, Heartbeat
from earnest.accountability.service import HEARTBEATS
from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, MINUTE_MS
from earnest.runtime.accountability.deciding import begin_anew, decide, vote
from earnest.views.score import list_events

from .conftest import MAIL, NEWS, Duty, duty_in

CALL = "- [ ] call | Call grandmother | required | verify: human"
MORE = "- [x] more | Breathe | required | verify: news_count"
CONTRACTS = ((), (MAIL, NEWS, CALL), (MAIL,), (MAIL, NEWS, CALL, MORE))
ZONES = ("UTC", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago")
VALUES = st.sampled_from([0, 1, 1, "outage"])

Deed = Callable[[Duty], None]


def checks_in(contract: Sequence[str], mail: int | str, news: int | str, is_lie: bool, is_judged: bool) -> Deed:
    def do(duty: Duty) -> None:
        duty.probes.values.update(mail_count=mail, news_count=news)
        duty.check_in(*contract, claims={"mail": {"value": 7}} if is_lie else None)
        if is_judged:
            duty.judge()

    return do


def votes(which: int, word: Any) -> Deed:
    return lambda duty: _of_one(duty, which, lambda beat: partial(vote, word=word, message_id=beat.id))


def decides(which: int, verified: bool) -> Deed:
    return lambda duty: _of_one(
        duty, which, lambda beat: partial(decide, heartbeat_id=beat.id, task="call", verified=verified, reason="So.")
    )


def resets() -> Deed:
    return lambda duty: _allowed(duty, partial(begin_anew, account_id=duty.agent.id, task="mail"))


def passes(milliseconds: int) -> Deed:
    return lambda duty: duty.town.clock.jump_ms(milliseconds)


def moves(zone: str, interval_s: int | None) -> Deed:
    return lambda duty: duty.configure(zone=zone, interval_s=interval_s)


DEEDS = st.one_of(
    st.builds(checks_in, st.sampled_from(CONTRACTS), VALUES, VALUES, st.booleans(), st.booleans()),
    st.builds(checks_in, st.just(()), st.just(1), st.just(1), st.just(False), st.just(True)),
    st.builds(votes, st.integers(0, 5), st.sampled_from(["up", "down"])),
    st.builds(decides, st.integers(0, 5), st.booleans()),
    st.builds(resets),
    st.builds(passes, st.sampled_from([8 * MINUTE_MS, 20 * MINUTE_MS, DAY_MS, 3 * DAY_MS, -2 * DAY_MS])),
    st.builds(moves, st.sampled_from(ZONES), st.sampled_from([None, 60, 3_600])),
)


def _of_one(duty: Duty, which: int, story: Callable[[Heartbeat], Any]) -> None:
    found = beats(duty)
    if found:
        _allowed(duty, story(found[which % len(found)]))


def _allowed(duty: Duty, story: Any) -> None:
    """Something that the operator does, unless there is nothing to do it to."""
    with contextlib.suppress(Refused):
        duty.town.act(duty.operator, story)


def beats(duty: Duty) -> list[Heartbeat]:
    return duty.town.database.read_sync(lambda reader: list(HEARTBEATS.where(reader, "1 = 1 ORDER BY id")))


def booked(duty: Duty) -> list[Any]:
    """Everything that was booked: (source, rule, points)."""
    events = duty.town.database.read_sync(lambda reader: list_events(reader, duty.agent.id, "", 1_000))
    return [(one["source"], part["rule"], part["points"]) for one in events for part in cast("Any", one["events"])]


def live(duty: Duty, deeds: Sequence[Deed]) -> None:
    floor = 50
    duty.pin(MAIL, NEWS, CALL, interval_s=60)
    for deed in deeds:
        deed(duty)
        score, days = duty.score, duty.days
        assert score.floor >= floor, "the floor fell"
        assert all(50 <= day.floor <= day.target <= 500 for day in days)
        assert all(day.lowest <= min(0, day.score) and day.peak >= max(0, day.score) for day in days)
        floor = score.floor
    duty.judge()
    events, score, days = booked(duty), duty.score, duty.days
    assert sum(points for _, _, points in events) == score.points == sum(day.score for day in days)
    assert (score.verified, score.failed) == (sum(day.verified for day in days), sum(day.failed for day in days))
    for beat in beats(duty):
        assert beat.state is CheckInState.JUDGED
        mine = [points for source, rule, points in events if source == beat.id and not rule.startswith("vote")]
        assert sum(mine) == beat.points, "what a heartbeat came to is not what was booked for it"
    duty.same_from_facts()


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(DEEDS, min_size=1, max_size=16))
def test_whatever_happens_no_point_is_lost_and_the_facts_alone_make_the_same_books(deeds: list[Deed]) -> None:
    with tempfile.TemporaryDirectory() as folder, duty_in(Path(folder)) as duty:
        live(duty, deeds)


LIFE = (
    checks_in(CONTRACTS[1], 1, 1, False, True),
    passes(20 * MINUTE_MS),
    checks_in(CONTRACTS[3], 0, 1, True, False),
    votes(0, "up"),
    passes(DAY_MS),
    checks_in(CONTRACTS[2], 1, 0, False, True),
    passes(20 * MINUTE_MS),
    checks_in(CONTRACTS[2], 1, 0, False, True),
    decides(0, True),
    votes(0, "down"),
    moves("Pacific/Kiritimati", None),
    passes(-2 * DAY_MS),
    checks_in((), 0, "outage", False, True),
    decides(1, False),
    resets(),
    passes(3 * DAY_MS),
    checks_in((), 1, 1, False, True),
)


def test_a_life_with_everything_in_it_is_rebuilt_from_its_facts(duty: Duty) -> None:
    live(duty, LIFE)
    assert len(duty.days) >= 3
    assert {rule for _, rule, _ in booked(duty)} >= {"weakened", "contradiction", "vote_down", "unclear_verifier"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_no_order_of_votes_verdicts_and_decisions_loses_one(duty: Duty, order: tuple[int, ...]) -> None:
    """A heartbeat of yesterday that is judged late, one that an operator decides, and votes for both."""
    duty.pin(CALL, interval_s=60)
    first = duty.cycle().id
    duty.pin(MAIL)
    duty.wait()
    second = duty.check_in()["heartbeat_id"]
    duty.town.clock.jump_ms(DAY_MS)
    deeds: list[Callable[[], object]] = [
        duty.judge,
        lambda: duty.town.act(
            duty.operator, partial(decide, heartbeat_id=first, task="call", verified=False, reason="No.")
        ),
        lambda: duty.town.act(duty.operator, partial(vote, word="up", message_id=first)),
        lambda: duty.town.act(duty.operator, partial(vote, word="down", message_id=second)),
    ]
    for at in order:
        deeds[at]()
    assert [day.score for day in duty.days] == [3 - 10, 10 - 15]
    assert (duty.score.points, duty.score.verified, duty.score.failed) == (-12, 1, 1)
    duty.same_from_facts()
