"""The characters of a simulated market, and how they behave. Chances are out of 100."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """How somebody works. `vanishes`: never hands anything in; `cheats`: hands in what is wrong; `late`: after the
    deadline; `gives_up`: cancels; `asks_time`: asks for an extension; `quarrels`: disputes a decline; `retries`: sends
    every request several times; `reviews`: says what it thinks of the buyer."""

    name: str
    vanishes: int = 0
    cheats: int = 0
    late: int = 0
    gives_up: int = 0
    asks_time: int = 5
    quarrels: int = 20
    retries: int = 5
    reviews: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Buyer:
    """How somebody judges work that waits for them. The rest of 100 is silence, which releases."""

    name: str
    accepts: int
    sends_back: int = 10
    declines: int = 5
    withdraws: int = 2
    quarrels: int = 0
    retries: int = 5
    reviews: int = 50


SELLERS: Final = (
    Seller(name="diligent"),
    Seller(name="hasty", cheats=15, retries=50),
    Seller(name="slow", late=40, asks_time=40),
    Seller(name="ghost", vanishes=60, gives_up=10, reviews=0),
    Seller(name="cheat", cheats=70, quarrels=60),
    Seller(name="quarrelsome", cheats=20, quarrels=95),
    Seller(name="stubborn", retries=100),
)

BUYERS: Final = (
    Buyer(name="fair", accepts=70),
    Buyer(name="silent", accepts=5, sends_back=0, declines=0, reviews=5),
    Buyer(name="harsh", accepts=20, sends_back=30, declines=40),
    Buyer(name="quarrelsome", accepts=30, declines=20, quarrels=30),
    Buyer(name="fickle", accepts=50, withdraws=20, retries=60),
)
