"""Test jobs that ask when something is due, with weekends and holidays."""

from datetime import date, timedelta
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.market.capabilities.generators.generator import Draws, Generator, Instance, compare_items

_DAY: Final = timedelta(days=1)


def _is_working(day: date, holidays: frozenset[date]) -> bool:
    return day.weekday() < 5 and day not in holidays


def _due(start: date, working_days: int, holidays: frozenset[date]) -> date:
    day = start
    while working_days:
        day += _DAY
        working_days -= _is_working(day, holidays)
    return day


def _make(draws: Draws) -> Instance:
    first = date(2020, 1, 1) + timedelta(days=draws.below(5_000))
    holidays = frozenset(first + timedelta(days=days) for days in draws.some(range(90), 9))
    orders: list[JsonObject] = []
    key: list[str] = []
    for number in range(1, 7):
        start, working_days = first + timedelta(days=draws.below(40)), draws.between(3, 30)
        orders.append({"order": number, "received": start.isoformat(), "working_days": working_days})
        key.append(_due(start, working_days, holidays).isoformat())
    return Instance(
        question={
            "task": "Each order is due so many working days after the day it was received, which does not count."
            " Working days are Monday to Friday, without the holidays. Give the day on which each is due.",
            "input": {"holidays": sorted(day.isoformat() for day in holidays), "orders": orders},
            "answer": "a list of 6 dates YYYY-MM-DD, in the order of the input",
        },
        key=key,
    )


DATE_REASONING: Final = Generator(
    name="date-reasoning",
    version="date-reasoning/1",
    categories=("data-analysis", "planning"),
    make=_make,
    grade=compare_items,
)
