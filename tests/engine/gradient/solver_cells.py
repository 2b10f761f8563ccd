"""All situations that the seed's table tells apart, number 1 first."""

from itertools import product
from typing import Final

from earnest.engine.gradient.cascade import Situation, Trend

CELLS: Final = tuple(
    Situation(trend=trend, far=far, spent=spent, logical=logical)
    for trend, far, spent, logical in product(Trend, (False, True), (False, True), (False, True))
)
