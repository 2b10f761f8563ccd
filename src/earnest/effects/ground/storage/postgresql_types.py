"""Values and errors of the library as the books have them: integers of 8 bytes, true and false as 1 and 0."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import Connection
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.types.numeric import Int8Dumper

from earnest.effects.ground.storage.driver import ServerFault
from earnest.foundation.errors import Refused

_INT8: Final = 20


class _Flag(Dumper):
    """True and false are 1 and 0, as on SQLite."""

    oid = _INT8

    def dump(self, obj: bool) -> bytes:
        """As PostgreSQL reads it."""
        return b"1" if obj else b"0"


class _Sum(Loader):
    """A sum of whole numbers is one: `sum(BIGINT)` is numeric there."""

    def load(self, data: Buffer) -> int | float:
        """As Python has it."""
        text = bytes(data)
        return float(text) if b"." in text else int(text)


def adapt(connection: "Connection[Any]") -> None:
    """Have a connection read and write them so."""
    connection.adapters.register_dumper(bool, _Flag)
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_loader("numeric", _Sum)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Errors of the library, as the books have them."""
    try:
        yield
    except psycopg.DataError as error:
        if "NUL" in str(error):
            raise Refused("fact_not_recordable", "a text with a NUL character cannot be kept") from error
        raise ServerFault(_line(error), is_lost=False) from error
    except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout) as error:
        is_waiting = isinstance(error, psycopg.errors.LockNotAvailable)
        raise ServerFault(_line(error), is_lost=not is_waiting) from error
    except psycopg.Error as error:
        raise ServerFault(_line(error), is_lost=False) from error


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
