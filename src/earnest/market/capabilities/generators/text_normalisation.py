"""A test job: names, dates and amounts, brought into one form."""

from datetime import date, timedelta
from typing import Final

from earnest.market.capabilities.generators.generator import Draws, Generator, Instance, compare_items

_FIRST: Final = ("Anna", "Björn", "Chiara", "Dmitri", "Élodie", "Fatima")
_LAST: Final = ("Okafor", "Müller", "Svensson", "Rossi", "Nowak", "Haddad")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _name(draws: Draws) -> tuple[str, str]:
    first, last = draws.one(_FIRST), draws.one(_LAST)
    messy = draws.one((f"  {last.upper()},  {first}", f"{first.lower()}   {last.lower()} ", f"{last}, {first.upper()}"))
    return messy, f"{first} {last}"


def _day(draws: Draws) -> tuple[str, str]:
    day = date(2019, 1, 1) + timedelta(days=draws.below(4_000))
    month = _MONTHS[day.month - 1]
    messy = draws.one((f"{day.day}.{day.month}.{day.year}", f"{month} {day.day}, {day.year}", f"{day:%Y%m%d}"))
    return messy, day.isoformat()


def _amount(draws: Draws) -> tuple[str, str]:
    cents = draws.between(100_000, 99_999_999)
    whole = f"{cents // 100:,}"
    messy = draws.one(
        (f"EUR {whole}.{cents % 100:02d}", f"{whole.replace(',', '.')},{cents % 100:02d} €", f"{cents} cent")
    )
    return messy, f"{cents // 100}.{cents % 100:02d} EUR"


def _make(draws: Draws) -> Instance:
    pairs = [draws.one((_name, _day, _amount))(draws) for _ in range(14)]
    return Instance(
        question={
            "task": "Bring each text into one form: a name as `First Last`, each beginning with a capital; a date as"
            " YYYY-MM-DD (5.3.2024 is the fifth of March); an amount as `1234.50 EUR`, in euros, without separators of"
            " thousands.",
            "input": [messy for messy, _ in pairs],
            "answer": "a list of 14 texts, in the order of the input",
        },
        key=[clean for _, clean in pairs],
    )


TEXT_NORMALISATION: Final = Generator(
    name="text-normalisation",
    version="text-normalisation/1",
    categories=("data-transformation", "text-processing"),
    make=_make,
    grade=compare_items,
)
