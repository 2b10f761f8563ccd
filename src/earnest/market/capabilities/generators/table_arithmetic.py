"""A test job: sums over a table."""

from collections import Counter
from typing import Final

from earnest.market.capabilities.generators.generator import Draws, Generator, Instance, compare_members

_REGIONS: Final = ("east", "north", "south", "west")
_PRODUCTS: Final = ("anvil", "bellows", "crucible", "dolly", "file")
_STATES: Final = ("shipped", "shipped", "shipped", "returned", "open")


def _make(draws: Draws) -> Instance:
    lines = ["id,region,product,quantity,unit_cents,discount_percent,state"]
    revenue: Counter[str] = Counter(dict.fromkeys(_REGIONS, 0))
    pieces: Counter[str] = Counter()
    for number in range(1, 25):
        region, product, state = draws.one(_REGIONS), draws.one(_PRODUCTS), draws.one(_STATES)
        quantity, cents, discount = draws.between(1, 90), draws.between(100, 5_000), draws.one((0, 0, 5, 10, 25))
        lines.append(f"{number},{region},{product},{quantity},{cents},{discount},{state}")
        if state == "shipped":
            revenue[region] += quantity * cents * (100 - discount) // 100
            pieces[product] += quantity
    top = min(pieces, key=lambda product: (-pieces[product], product), default="")
    return Instance(
        question={
            "task": "Count only rows whose state is shipped. A row's revenue is quantity times unit_cents, less its"
            " discount, rounded down to whole cents. Give the revenue of each of the four regions (0 where there is"
            " none), and the product with most pieces; of equals, the first by name.",
            "input": "\n".join(lines),
            "answer": "{revenue_cents: {east, north, south, west}, top_product}",
        },
        key={"revenue_cents": dict(revenue), "top_product": top},
    )


TABLE_ARITHMETIC: Final = Generator(
    name="table-arithmetic",
    version="table-arithmetic/1",
    categories=("data-analysis",),
    make=_make,
    grade=compare_members,
)
