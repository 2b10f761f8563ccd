"""The tables that are a function of the facts, and the facts that make them."""

from collections.abc import Mapping
from typing import Any, Final

from earnest.accountability import service as accountability
from earnest.effects.ground.storage.rows import Book, Project
from earnest.identity import service as identity
from earnest.ledger import service as ledger
from earnest.market import service as market
from earnest.world import service as world

BOOKS: Final[tuple[Book[Any], ...]] = (
    *identity.BOOKS,
    *ledger.BOOKS,
    *market.BOOKS,
    *accountability.BOOKS,
    *world.BOOKS,
)

PROJECTIONS: Final[Mapping[str, Project]] = {
    **{kind: project for book in BOOKS for kind, project in book.projections.items()},
    **ledger.PROJECTIONS,
}
"""What each kind of fact does to the tables. Facts of other kinds change none."""

TABLES: Final[Mapping[str, str]] = {
    **{book.table: book.key for book in BOOKS},
    **accountability.EXTRA_TABLES,
    "ledger_accounts": "id",
    "transfers": "id",
}
"""Every table that facts alone make, and its key."""
