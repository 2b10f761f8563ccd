"""An agent's score, which changes in three ways: a day begins, points are booked, a closed day is amended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.accountability.days import TARGET_MIN, Day, charged, day_id, streak_after, streaks_of, target_of
from earnest.accountability.points import Charge
from earnest.accountability.tiers import FORCING, Penalty, Reward, penalty_of, reward_of

_SCORE: Final = "/score"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One agent's. `date` is that of its newest day, which is open; all others are closed.

    `floor`: the ratchet, which never falls. `verified`, `failed`, `points` are over its whole life; `best`, `worst`,
    `days` and the streaks are of closed days. The tier is as the last booking left it: it carries over midnight.
    """

    account_id: str
    date: str = ""
    floor: int = TARGET_MIN
    penalty: Penalty = Penalty.NONE
    reward: Reward = Reward.NONE
    tier_since_ms: int | None = None
    streak: int = 0
    longest: int = 0
    verified: int = 0
    failed: int = 0
    points: int = 0
    best: int | None = None
    worst: int | None = None
    days: int = 0

    @property
    def is_forced(self) -> bool:
        """True where every task is required."""
        return self.penalty in FORCING


def subject_of(account_id: str) -> str:
    """What the facts about an account's score are about."""
    return account_id + _SCORE


def account_of(subject: str) -> str:
    """Whose score such a fact is about."""
    return subject.removesuffix(_SCORE)


def turned(score: Score, closed: Sequence[Day], date: str, zone: str, possible: int) -> tuple[Score, Day]:
    """A new day begins and the one before is closed. `closed`: the last days, newest first, that one among them.

    `date` must be later than the score's.
    """
    if closed:
        last, reached = closed[0], [day.score for day in closed]
        streak = streak_after(score.streak, last)
        score = replace(
            score,
            floor=target_of(score.floor, reached),
            streak=streak,
            longest=max(score.longest, streak),
            best=last.score if score.best is None else max(score.best, last.score),
            worst=last.score if score.worst is None else min(score.worst, last.score),
            days=score.days + 1,
        )
    day = Day(
        id=day_id(score.account_id, date),
        account_id=score.account_id,
        date=date,
        zone=zone,
        target=target_of(score.floor, (day.score for day in closed)),
        floor=score.floor,
        possible=possible,
    )
    return replace(score, date=date), day


def standing(score: Score, recent: Sequence[Day], date: str, zone: str, possible: int) -> tuple[Score, Day]:
    """The score and the day at `date`: as they are, or as they will be when something is booked.

    `recent`: newest first.
    """
    if recent and date <= score.date:
        return score, recent[0]
    return turned(score, recent, date, zone, possible)


def booked(score: Score, day: Day, charges: Sequence[Charge], at_ms: int) -> tuple[Score, Day]:
    """Points of the open day, all at once. There is no tier before the day's first verdict: the last one stays."""
    after = charged(day, charges)
    return tiered(_over_life(score, day, after), after, at_ms), after


def amended(score: Score, days: Sequence[Day], day: Day, charges: Sequence[Charge]) -> tuple[Score, Day]:
    """Points that were decided after their day was closed. `days`: all closed days, newest first, with `day` as it was.

    The floor may rise by it and never falls; the bar of days that have begun stays where it was.
    """
    after = charged(day, charges)
    now = [after if each.id == day.id else each for each in days]
    streak, longest = streaks_of(reversed(now))
    scores = [each.score for each in now]
    score = replace(
        _over_life(score, day, after),
        floor=target_of(score.floor, scores),
        streak=streak,
        longest=max(score.longest, longest),
        best=max(scores),
        worst=min(scores),
    )
    return score, after


def tiered(score: Score, day: Day, at_ms: int) -> Score:
    """With the tier that the open day has come to."""
    if not day.verdicts:
        return score
    penalty, reward = penalty_of(day.score, day.target), reward_of(day.score, day.target, score.streak)
    if (penalty, reward) == (score.penalty, score.reward):
        return score
    return replace(score, penalty=penalty, reward=reward, tier_since_ms=at_ms)


def _over_life(score: Score, before: Day, after: Day) -> Score:
    return replace(
        score,
        verified=score.verified + after.verified - before.verified,
        failed=score.failed + after.failed - before.failed,
        points=score.points + after.score - before.score,
    )
