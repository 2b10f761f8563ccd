"""Statements of a transaction that nobody asks the answer of, kept until one goes to the server with them.

Against a server half a millisecond away a trip costs more than most statements do.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from psycopg.adapt import Transformer

from earnest.effects.ground.storage.dialects import spelled_out
from earnest.effects.ground.storage.driver import SqlParameters

if TYPE_CHECKING:
    import psycopg

SAVEPOINT: Final = "SAVEPOINT part"


class WaitingStatements:
    """What waits on one connection, in order, spelled out with its values."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._literal: Callable[[Any], Any] = Transformer(connection).as_literal
        self._texts: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, sql: str, parameters: SqlParameters = ()) -> None:
        """Keep a statement."""
        self._texts.append(spelled_out(sql, parameters, self._spelled))

    def taken(self) -> str:
        """All of them as one message; none waits any more."""
        texts, self._texts = self._texts, []
        return "; ".join(texts)

    def forget_part(self) -> bool:
        """Drop what came after a savepoint that still waits, with it; whether there was one. Else drop all."""
        at = next((at for at, text in enumerate(self._texts) if text == SAVEPOINT), None)
        del self._texts[at or 0 :]
        return at is not None

    def _spelled(self, value: object) -> str:
        return bytes(self._literal(value)).decode()


class LaterCursor:
    """The answer to a statement that waits: whoever looks at it has all that waits sent."""

    description = None

    def __init__(self, settled: Callable[[], int]) -> None:
        self._settled = settled

    @property
    def rowcount(self) -> int:
        """How many rows the last statement that waited has changed."""
        return self._settled()

    def fetchone(self) -> None:
        """It has no rows."""

    def fetchmany(self, size: int = 0, /) -> list[Any]:  # noqa: ARG002
        """It has no rows."""
        return []

    def fetchall(self) -> list[Any]:
        """It has no rows."""
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())
