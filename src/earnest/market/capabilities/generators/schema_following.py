"""A test job: an object that keeps to a form. Many answers are right."""

from itertools import pairwise
from typing import Any, Final, cast

from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.market.capabilities.generators.generator import Draws, Generator, Instance

_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_COLOURS: Final = ("amber", "cobalt", "indigo", "ochre", "sepia", "teal")


def _make(draws: Draws) -> Instance:
    count, low = draws.between(4, 7), draws.between(1, 30)
    span = draws.between(20, 40)
    parts = sorted(draws.some(range(low, low + span), count))
    form: JsonObject = {
        "letter": draws.one(_LETTERS),
        "digits": draws.between(3, 6),
        "count": count,
        "low": low,
        "high": low + span,
        "sum": sum(parts),
        "modulus": draws.between(7, 31),
        "forbidden": sorted(draws.some(_COLOURS, 3)),
    }
    return Instance(
        question={
            "task": "Make one object. code: the given letter, a hyphen, and so many digits. parts: so many (count)"
            " whole numbers from low to high, each larger than the one before it, with the given sum. check: the sum of"
            " the squares of parts, modulo the given modulus. colour: one of the six that is not forbidden. No other"
            " member.",
            "input": {**form, "colours": list(_COLOURS)},
            "answer": "{code, parts, check, colour}",
        },
        key=form,
    )


def _grade(key: JsonValue, answer: JsonValue) -> str:
    form = cast("dict[str, Any]", key)
    if not isinstance(answer, dict) or set(answer) != {"code", "parts", "check", "colour"}:
        return "the members must be check, code, colour, parts"
    code, parts, check, colour = answer["code"], answer["parts"], answer["check"], answer["colour"]
    if not isinstance(code, str) or not _is_code(code, form["letter"], form["digits"]):
        return "wrong: code"
    if not isinstance(parts, list) or not all(type(part) is int for part in parts):
        return "wrong: parts"
    inside = all(form["low"] <= part <= form["high"] for part in parts)
    rising = all(one < other for one, other in pairwise(parts))
    if not (inside and rising and len(parts) == form["count"] and sum(parts) == form["sum"]):
        return "wrong: parts"
    if type(check) is not int or check != sum(part * part for part in parts) % form["modulus"]:
        return "wrong: check"
    return "" if colour in _COLOURS and colour not in form["forbidden"] else "wrong: colour"


def _is_code(code: str, letter: str, digits: int) -> bool:
    number = code[2:]
    return code[:2] == f"{letter}-" and len(number) == digits and number.isascii() and number.isdigit()


SCHEMA_FOLLOWING: Final = Generator(
    name="schema-following",
    version="schema-following/1",
    categories=("data-transformation",),
    minutes=2,
    make=_make,
    grade=_grade,
)
