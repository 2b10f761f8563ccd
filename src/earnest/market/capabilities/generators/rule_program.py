"""A test job with hidden grading: a rule in words becomes a program, which is tried on cases that were not shown."""

from typing import Any, Final, cast

from earnest.foundation.canonical import JsonValue
from earnest.market.capabilities.generators.expressions import LANGUAGE, NotAProgramError, run
from earnest.market.capabilities.generators.generator import Draws, Generator, Instance

_CASES: Final = 40


def _make(draws: Draws) -> Instance:
    base, per_kg, free_kg = draws.between(200, 900), draws.between(15, 90), draws.between(2, 9)
    far, percent = draws.between(300, 900), draws.between(110, 190)
    limit, waived = draws.between(3_000, 6_000), draws.between(8_000, 20_000)

    def price(kg: int, km: int, value: int) -> int:
        if value >= waived:
            return 0
        cents = base + per_kg * max(0, kg - free_kg)
        return min(limit, cents * percent // 100 if km > far else cents)

    edges = [
        (free_kg + more, far + further, waived + dearer) for more in (0, 1) for further in (0, 1) for dearer in (-1, 0)
    ]
    drawn = [(draws.between(0, 120), draws.between(1, 1_500), draws.between(0, 2 * waived)) for _ in range(_CASES)]
    cases = [{"kg": kg, "km": km, "value": value, "is": price(kg, km, value)} for kg, km, value in (*edges, *drawn)]
    return Instance(
        question={
            "task": f"Write a program for the price of a parcel in cents. It costs {base}; each kilogram above"
            f" {free_kg} costs {per_kg} more. Farther than {far} km it costs {percent} % of that, rounded down. It"
            f" never costs more than {limit}. Parcels of a value of at least {waived} cost nothing. Your program is"
            " tried on cases that you do not see.",
            "input": {"variables": ["kg", "km", "value"], "language": LANGUAGE, "example": cases[-1]},
            "answer": "the program: one expression",
        },
        key=cases,
    )


def _grade(key: JsonValue, answer: JsonValue) -> str:
    cases = cast("list[dict[str, Any]]", key)
    wrong = 0
    for case in cases:
        try:
            wrong += run(answer, {name: case[name] for name in ("kg", "km", "value")}) != case["is"]
        except NotAProgramError as error:
            return str(error)
    return f"wrong in {wrong} of {len(cases)} cases" if wrong else ""


RULE_PROGRAM: Final = Generator(
    name="rule-program",
    version="rule-program/1",
    categories=("code-generation", "data-analysis", "data-transformation"),
    hidden=True,
    minutes=5,
    make=_make,
    grade=_grade,
)
