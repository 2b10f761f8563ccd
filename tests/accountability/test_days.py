"""Days: the ratchet, streaks, and what the calendar does to them."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.accountability.days import Day, begins_at_ms, charged, date_after, date_of, streaks_of, target_of
from earnest.accountability.gate import DailyHours, Skip, closed_gate, hours_of, minute_of
from earnest.accountability.points import Charge, PointsRule
from earnest.accountability.score import Score, amended, booked, standing, turned
from earnest.accountability.tiers import Penalty, Reward
from earnest.foundation.zones import is_zone

ME = "act_ME"


def charges(points: int) -> list[Charge]:
    """So many points, in verdicts: fives, thumbs and failures."""
    fives, rest = divmod(abs(points), 5)
    if points < 0:
        fails, left = divmod(-points, 15)
        return [Charge(rule=PointsRule.NOT_VERIFIED, task="t")] * fails + [
            Charge(rule=PointsRule.UNCLEAR_EVIDENCE, task="t")
        ] * (left // 2)
    return [Charge(rule=PointsRule.VERIFIED_OPTIONAL, task="t")] * fives + [
        Charge(rule=PointsRule.VOTE_UP, task="m")
    ] * (rest // 3)


class Life:
    """An agent's days, one after the other, without a database."""

    def __init__(self) -> None:
        self.score = Score(account_id=ME)
        self.days: list[Day] = []

    def begin(self, date: str) -> Day:
        self.score, day = turned(self.score, self.days[:7], date, "UTC", 1_000)
        self.days.insert(0, day)
        return day

    def book(self, what: list[Charge], at_ms: int = 0) -> Day:
        self.score, self.days[0] = booked(self.score, self.days[0], what, at_ms)
        return self.days[0]


def test_the_example_of_the_seed_by_half_up() -> None:
    """A row shows the bar after its day; day 3 is 83 by half-up."""
    life, date, bars = Life(), "2026-03-01", []
    for points in (75, 90, 60, 110, 120, 30):
        date = date_after(date)
        life.begin(date)
        assert life.book(charges(points)).score == points
        after, _ = turned(life.score, life.days[:7], date_after(date), "UTC", 0)
        bars.append((after.floor, target_of(after.floor, [day.score for day in life.days])))
    assert bars == [(75, 75), (83, 83), (83, 83), (84, 84), (91, 91), (91, 91)]


def test_the_history_averages_of_the_seed_by_half_up() -> None:
    """Its column `History Avg`: 82.5 is 83, and day 7 falls to 81 below the floor of 91."""
    days = [75, 90, 60, 110, 120, 30]
    assert [target_of(50, days[at::-1]) for at in range(len(days))] == [75, 83, 75, 84, 91, 81]
    assert target_of(91, days[::-1]) == 91


@pytest.mark.parametrize(
    ("floor", "scores", "target"),
    [
        (50, [], 50),
        (50, [-100, 0, -3], 50),
        (50, [75, 90], 83),
        (50, [10], 50),
        (120, [100], 120),
        (50, [9_000], 500),
        (500, [1], 500),
        (50, [60, 0, -5, 61], 61),
        (50, [60, 60, 60, 60, 60, 60, 60, 500], 60),
    ],
)
def test_a_target_is_the_mean_of_the_positive_days_among_the_last_seven(
    floor: int, scores: list[int], target: int
) -> None:
    assert target_of(floor, scores) == target


@given(st.lists(st.integers(-300, 900), min_size=1, max_size=30))
def test_the_floor_never_falls_and_targets_stay_between_50_and_500(points: list[int]) -> None:
    life, date, floor = Life(), "2026-01-01", 50
    for number in points:
        day = life.begin(date := date_after(date))
        assert 50 <= day.target <= 500
        assert floor <= life.score.floor <= day.target
        floor = life.score.floor
        life.book(charges(number))
    assert life.score.days == len(points) - 1
    assert life.score.streak == streaks_of(life.days[:0:-1])[0]


@pytest.mark.slow
@given(
    st.lists(st.integers(-300, 900), min_size=2, max_size=12),
    st.integers(1, 11),
    st.integers(-100, 700),
)
def test_a_late_verdict_on_a_closed_day_never_lowers_the_floor_and_moves_only_that_day(
    points: list[int], back: int, late: int
) -> None:
    life, date = Life(), "2026-01-01"
    for number in points:
        life.begin(date := date_after(date))
        life.book(charges(number))
    at = min(back, len(points) - 1)
    before = life.score
    after, day = amended(before, life.days[1:], life.days[at], charges(late))
    assert after.floor >= before.floor
    assert after.points - before.points == day.score - life.days[at].score
    assert day.target == life.days[at].target
    assert not (life.days[at].target_reached and not day.target_reached)
    closed = [day if each.id == day.id else each for each in life.days[1:]]
    assert after.streak == streaks_of(closed[::-1])[0]


@given(
    st.lists(st.sampled_from([PointsRule.VOTE_UP, PointsRule.VERIFIED_REQUIRED, PointsRule.NOT_VERIFIED]), max_size=20),
    st.randoms(),
)
def test_no_order_of_votes_and_cycles_loses_one(rules: list[PointsRule], chance: object) -> None:
    def after(order: list[PointsRule]) -> Day:
        life = Life()
        life.begin("2026-01-01")
        for rule in order:
            life.book([Charge(rule=rule, task="t")])
        return life.days[0]

    shuffled = list(rules)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = after(rules), after(shuffled)
    assert (one.score, one.verified, one.failed, one.verdicts) == (
        other.score,
        other.verified,
        other.failed,
        other.verdicts,
    )


def test_what_is_booked_together_moves_peak_and_lowest_once() -> None:
    life = Life()
    life.begin("2026-01-01")
    day = life.book([*charges(60), *charges(-30)])
    assert (day.score, day.peak, day.lowest, day.target_reached) == (30, 30, 0, False)


def test_target_reached_stays_for_the_day() -> None:
    life = Life()
    life.begin("2026-01-01")
    assert life.book(charges(50)).target_reached
    assert life.book(charges(-30)).target_reached


def test_there_is_no_tier_before_the_first_verdict_and_the_last_one_carries_over_midnight() -> None:
    life = Life()
    life.begin("2026-01-01")
    life.book(charges(45), at_ms=1_000)
    assert life.score.reward is Reward.OUTSTANDING
    life.begin("2026-01-02")
    life.book([Charge(rule=PointsRule.VOTE_UP, task="m")], at_ms=2_000)
    life.book([Charge(rule=PointsRule.UNCLEAR_VERIFIER, task="t")], at_ms=3_000)
    assert (life.score.reward, life.score.tier_since_ms) == (Reward.OUTSTANDING, 1_000)
    life.book([Charge(rule=PointsRule.VERIFIED_REQUIRED, task="t")], at_ms=4_000)
    assert (life.score.penalty, life.score.reward, life.score.tier_since_ms) == (Penalty.NONE, Reward.NONE, 4_000)


def test_a_day_without_verdicts_neither_breaks_nor_extends_a_streak() -> None:
    life = Life()
    for date, points in (("2026-01-01", 60), ("2026-01-02", 0), ("2026-01-03", 60)):
        life.begin(date)
        life.book(charges(points) if points else [Charge(rule=PointsRule.UNCLEAR_VERIFIER, task="t")])
    life.begin("2026-01-04")
    assert (life.score.streak, life.score.longest) == (2, 2)
    life.book(charges(10))
    life.begin("2026-01-05")
    assert (life.score.streak, life.score.longest) == (0, 2)


def test_a_vote_changes_points_and_no_count() -> None:
    life = Life()
    life.begin("2026-01-01")
    day = life.book([Charge(rule=PointsRule.VOTE_DOWN, task="m")])
    assert (day.score, day.verified, day.failed, day.unclear, day.verdicts) == (-10, 0, 0, 0, 0)


def test_a_verdict_that_is_taken_back_leaves_no_trace_in_points_and_counts() -> None:
    life = Life()
    before = life.begin("2026-01-01")
    day = charged(
        before,
        [Charge(rule=PointsRule.NOT_VERIFIED, task="t"), Charge(rule=PointsRule.NOT_VERIFIED, task="t", sign=-1)],
    )
    assert day == before


def test_an_unbegun_day_is_shown_as_it_will_begin_and_the_one_before_as_closed() -> None:
    life = Life()
    life.begin("2026-01-01")
    life.book(charges(80))
    assert standing(life.score, life.days, "2025-12-31", "UTC", 300) == (life.score, life.days[0]), (
        "it never rolls back"
    )
    score, day = standing(life.score, life.days, "2026-01-02", "UTC", 1_000)
    assert (day.date, day.score, day.target, day.possible) == ("2026-01-02", 0, 80, 1_000)
    assert (score.floor, score.streak, score.best, score.days) == (80, 1, 80, 1)
    assert day == life.begin("2026-01-02")
    assert score == life.score


def test_a_late_verdict_that_joins_two_streaks_of_the_past_makes_the_longest_longer() -> None:
    life, date = Life(), "2026-01-01"
    for points in (50, 40, 60, -15, -15):
        life.begin(date := date_after(date))
        life.book(charges(points))
    assert (life.score.streak, life.score.longest) == (0, 1)
    after, day = amended(life.score, life.days[1:], life.days[3], charges(10))
    assert day.target_reached
    assert (after.streak, after.longest) == (0, 3)


def _ms(text: str, zone: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000


def test_a_day_is_the_calendar_s_in_the_operator_s_zone() -> None:
    at = _ms("2026-03-01T23:30:00", "America/New_York")
    assert date_of(at, "America/New_York") == "2026-03-01"
    assert date_of(at, "UTC") == "2026-03-02"
    assert date_of(at, "Asia/Kolkata") == "2026-03-02"


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Europe/Berlin", "2026-07-01", 24),
        ("America/Santiago", "2026-09-06", 23),
        ("America/Santiago", "2026-04-04", 25),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
    ],
)
def test_each_hour_of_a_day_that_is_changed_belongs_to_one_day(zone: str, day: str, hours: float) -> None:
    begin, end = begins_at_ms(day, zone), begins_at_ms(date_after(day), zone)
    assert end - begin == hours * 3_600_000
    assert date_of(begin, zone) == date_of(end - 1_000, zone) == day
    assert date_of(begin - 1_000, zone) < day < date_of(end, zone)
    assert DailyHours().spans_s(day, zone) == [(begin // 1_000, end // 1_000)]


@given(st.integers(1_577_836_800, 2_051_222_400), st.sampled_from(["Europe/Berlin", "America/Santiago"]))
def test_dates_never_go_back_as_time_goes_on(at_s: int, zone: str) -> None:
    assert date_of(at_s * 1_000, zone) <= date_of((at_s + 1_800) * 1_000, zone)


@pytest.mark.parametrize(
    ("begin", "end", "inside", "outside"),
    [
        ("08:00", "22:00", ["08:00", "21:59"], ["07:59", "22:00", "00:00"]),
        ("22:00", "06:00", ["22:00", "23:59", "00:00", "05:59"], ["06:00", "21:59"]),
        ("00:00", "24:00", ["00:00", "12:00", "23:59"], []),
        ("18:00", "24:00", ["18:00", "23:59"], ["00:00", "17:59"]),
        ("24:00", "06:00", ["00:00", "05:59"], ["06:00"]),
        ("09:00", "09:00", ["09:00", "08:59"], []),
    ],
)
def test_active_hours_include_their_start_and_not_their_end(
    begin: str, end: str, inside: list[str], outside: list[str]
) -> None:
    hours = hours_of(begin, end)
    for time in (*inside, *outside):
        minute = minute_of(_ms(f"2026-05-05T{time}:00", "Europe/Berlin"), "Europe/Berlin")
        assert hours.hold(minute) is (time in inside), time


@pytest.mark.parametrize(("day", "hours"), [("2026-05-05", 6), ("2026-03-29", 5)])
def test_a_window_past_midnight_is_two_spans_of_a_day(day: str, hours: int) -> None:
    night, evening = hours_of("22:00", "06:00").spans_s(day, "Europe/Berlin")
    assert night[0] == begins_at_ms(day, "Europe/Berlin") // 1_000
    assert evening[1] == begins_at_ms(date_after(day), "Europe/Berlin") // 1_000
    assert (night[1] - night[0], evening[1] - evening[0]) == (hours * 3_600, 2 * 3_600)


def test_the_gates_are_asked_in_order() -> None:
    night = hours_of("08:00", "09:00")
    closed: dict[str, Any] = {"is_enabled": False, "is_paused": True, "is_busy": True, "has_work": False}
    found = []
    opened: dict[str, Any]
    for opened in ({}, {"is_enabled": True}, {"is_paused": False}, {"hours": DailyHours()}, {"is_busy": False}):
        closed = {"hours": night, **closed, **opened}
        found.append(closed_gate(minute=0, **closed))
    assert found == list(Skip)
    assert (
        closed_gate(is_enabled=True, is_paused=False, hours=DailyHours(), minute=0, is_busy=False, has_work=True)
        is None
    )


def test_a_zone_is_one_of_the_iana_database() -> None:
    assert is_zone("Europe/Berlin")
    assert not any(is_zone(name) for name in ("", "Mars/Base", "../etc/passwd", "/UTC", "Europe"))
    assert not any(is_zone(name) for name in ("localtime", "posixrules", "Factory", "right/UTC", "posix/UTC")), (
        "not ours"
    )
