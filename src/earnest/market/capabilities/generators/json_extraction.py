"""A test job: orders, out of letters."""

from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.market.capabilities.generators.generator import Draws, Generator, Instance, compare_items

_NAMES: Final = ("Amsel & Co", "Borealis GmbH", "Cormorant Ltd", "Dunlin SARL", "Egret BV", "Fulmar AS", "Grebe Oy")
_GOODS: Final = ("hinges", "valves", "gaskets", "bearings", "brackets", "couplings")
_LETTERS: Final = (
    "{name} writes: please send us {count} {goods} at {euros} euros each, our reference {order}.",
    "Under reference {order} we ordered {void} {goods} by mistake; it must be {count}, at {euros} euros each. {name}.",
    "To confirm ({order}): {goods}, {count} pieces, {euros} euros apiece, for {name}. Those {void} are void.",
)


def _make(draws: Draws) -> Instance:
    numbers = draws.some(range(1_000, 10_000), 6)
    letters: list[str] = []
    key: list[JsonObject] = []
    for number in numbers:
        cents, count = draws.between(105, 9_995), draws.between(2, 400)
        order, name, goods = f"PO-{number}", draws.one(_NAMES), draws.one(_GOODS)
        euros, void = f"{cents // 100}.{cents % 100:02d}", count + draws.between(1, 50)
        letter = draws.one(_LETTERS)
        letters.append(letter.format(name=name, count=count, goods=goods, euros=euros, order=order, void=void))
        key.append({"order": order, "customer": name, "goods": goods, "count": count, "unit_cents": cents})
    key.sort(key=lambda row: str(row["order"]))
    return Instance(
        question={
            "task": "Six letters order goods. Give what each finally orders, sorted by order reference.",
            "input": letters,
            "answer": "a list of {order, customer, goods, count, unit_cents}: texts as written, numbers as integers",
        },
        key=key,
    )


JSON_EXTRACTION: Final = Generator(
    name="json-extraction",
    version="json-extraction/1",
    categories=("data-extraction",),
    make=_make,
    grade=compare_items,
)
