"""SQLite files: how one is opened, and what an error of SQLite means."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from earnest.foundation.errors import Broken, EarnestError, Refused, Unavailable

SqlValue: TypeAlias = int | float | str | bytes | None
SqlParameters: TypeAlias = Sequence[SqlValue] | Mapping[str, SqlValue]

BUSY_TIMEOUT_MS: Final = 5_000
CACHE_KB: Final = 16 * 1024
WAL_SIZE_BYTES: Final = 64 * 1024 * 1024
STATEMENTS_CACHED: Final = 256


class ServerFault(Exception):
    """What went wrong on a server: with the statement, or `is_lost`, with the connection and all that was under way."""

    def __init__(self, told: str, *, is_lost: bool, is_denied: bool = False) -> None:
        super().__init__(told)
        self.is_lost = is_lost
        self.is_denied = is_denied


DATABASE_ERROR: Final[tuple[type[Exception], ...]] = (sqlite3.Error, ServerFault)
"""What reading and writing may raise."""
SQLITE_VERSION: Final = sqlite3.sqlite_version
SQLITE_VERSION_MIN: Final = (3, 37, 0)
"""The first with STRICT tables."""

_PRAGMAS: Final = ("foreign_keys = ON", "trusted_schema = OFF", f"busy_timeout = {BUSY_TIMEOUT_MS}")
_WRITER_PRAGMAS: Final = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "recursive_triggers = ON",  # without it, REPLACE deletes a row past its delete trigger
    f"journal_size_limit = {WAL_SIZE_BYTES}",
    f"cache_size = -{CACHE_KB}",  # a transaction changes rows of many tables
)

_LOST: Final = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
    }
)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def connect_writer(path: Path, *, is_durable: bool = True) -> sqlite3.Connection:
    """The connection that writes; whoever opens it holds the data directory's lock. Creates the file (mode 0600)."""
    path.touch(mode=0o600)
    waits = () if is_durable else ("synchronous = OFF",)
    return _connect(path, "rw", (*_PRAGMAS, *_WRITER_PRAGMAS, *waits))


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection whose every write SQLite refuses."""
    return _connect(path, "ro", (*_PRAGMAS, "query_only = ON"))


def _connect(path: Path, mode: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise Unavailable(f"SQLite {sqlite3.sqlite_version} is too old; 3.37 or newer is needed")
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS_CACHED,
        )
    except sqlite3.OperationalError as error:
        raise Unavailable(f"{path} cannot be opened: {error}") from error
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        connection.close()
        if _code_of(error) == sqlite3.SQLITE_NOTADB:
            raise Refused("not_our_database", f"{path} is no database of earnest: {error}") from error
        raise meaning_of(error) from error
    return connection


def meaning_of(error: BaseException) -> EarnestError:
    """What an error of SQLite means for whoever waits: `Unavailable` if it may pass, else `Broken`."""
    if isinstance(error, EarnestError):
        return error
    if isinstance(error, ServerFault) and error.is_lost:
        return Unavailable(f"the database went away: {error}", retry_after_ms=BUSY_TIMEOUT_MS)
    if _code_of(error) in _BUSY:
        return Unavailable(f"another program holds the database: {error}", retry_after_ms=BUSY_TIMEOUT_MS)
    return Broken(f"the database failed: {error}")


def ends_transaction(error: BaseException) -> bool:
    """True if the whole transaction is lost with this error, not the one statement."""
    return error.is_lost if isinstance(error, ServerFault) else _code_of(error) in _LOST | _BUSY


def is_denied(error: BaseException) -> bool:
    """True if the guard of a transaction did not let a statement through."""
    return error.is_denied if isinstance(error, ServerFault) else _code_of(error) == sqlite3.SQLITE_AUTH


def _code_of(error: BaseException) -> int | None:
    """The primary result code."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None
