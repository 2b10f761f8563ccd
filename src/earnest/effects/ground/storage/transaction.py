"""One transaction: what may be done in it, and what is refused at its end."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from earnest.effects.ground.storage.driver import SqlParameters
from earnest.effects.ground.storage.facts import FactRow, StoredFact, row_of
from earnest.effects.ground.storage.reader import Reader
from earnest.effects.ground.storage.schema import VERSION_TABLE, Schema
from earnest.foundation.canonical import JsonObject, canonical_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact

_APPEND: Final = "INSERT INTO facts (seq, at_ms, kind, subject, body, leaf) VALUES (?, ?, ?, ?, ?, ?)"
_TOUCH: Final = (
    "INSERT INTO touches (subject, seq) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET seq = excluded.seq"
)

_ALLOWED: Final = frozenset(
    {
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_SAVEPOINT,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_UPDATE,
    }
)
_CHANGES: Final = frozenset({sqlite3.SQLITE_DELETE, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE})
_OURS: Final = frozenset({"facts", VERSION_TABLE, "sqlite_master", "sqlite_sequence"})


class Guard:
    """Asked by SQLite about every statement: those of a transaction read and change rows and do nothing else.

    Without it a statement could commit, change a table's form or write facts by hand, unseen by the count of changes.
    """

    def __init__(self) -> None:
        self.on_watch = False

    def __call__(self, action: int, first: str | None, *_: str | None) -> int:
        """SQLite's question. `first` is the table where rows are changed."""
        allowed = action in _ALLOWED and not (action in _CHANGES and first in _OURS)
        return sqlite3.SQLITE_OK if allowed or not self.on_watch else sqlite3.SQLITE_DENY


def last_seq(driver: sqlite3.Connection) -> int:
    """The number of the newest fact; 0 if there is none."""
    (last,) = driver.execute("SELECT max(seq) FROM facts").fetchone()
    return int(last or 0)


class Page:
    """What one commit will hold: the facts recorded for it but not yet inserted, and the last number given out."""

    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self.connection = connection
        self.schema = schema
        self.guard = Guard()
        self.rows: list[FactRow] = []
        self.last_seq = 0
        connection.set_authorizer(self.guard)

    def begin(self) -> None:
        """Start empty, after the last fact, whichever process has recorded it."""
        self.guard.on_watch = False
        self.rows.clear()
        self.connection.execute("BEGIN IMMEDIATE")
        self.last_seq = last_seq(self.connection)

    def flush(self) -> None:
        """Insert what was recorded."""
        if self.rows:
            self.connection.executemany(_APPEND, self.rows)
            self.rows.clear()


class Transaction(Reader):
    """One function's part of a commit. It can be undone without the parts of others.

    A function that only records facts never reaches SQLite: its facts are inserted together with everybody's. The first
    statement of any other kind opens a savepoint.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page.connection, page.schema)
        self._page = page
        self._rows_before = len(page.rows)
        self._seq_before = page.last_seq
        self._changes_before: int | None = None
        self._touched: dict[str, int] = {}

    def record(self, fact: Fact) -> int:
        """Append a fact in this commit; its `seq`. Raises `Refused("fact_not_recordable")`."""
        self._check_open()
        row = row_of(fact, self._page.last_seq + 1)
        self._page.rows.append(row)
        self._page.last_seq = row[0]
        return row[0]

    @property
    def has_recorded(self) -> bool:
        """True once a fact stands in it."""
        return self._page.last_seq != self._seq_before

    def executemany(self, sql: str, rows: Iterable[SqlParameters]) -> None:
        """One statement for each of `rows`, together."""
        self._driver().executemany(sql, rows)

    def touch(self, seq: int, subjects: Iterable[str]) -> None:
        """Note for `touches.touched` that fact `seq` concerns `subjects`; written once for each, at the end."""
        self._touched.update(dict.fromkeys(subjects, seq))

    def rewrite(self, bodies: Mapping[int, JsonObject]) -> dict[int, bytes]:
        """Put other bodies into recorded facts, by number, as bytes that leave nothing of the old ones in their pages.

        The leaves stay, so every head still fits, and a verification names these facts unless a later one says which
        leaf each has now: those leaves are the answer.
        """
        driver, now = self._driver(), list[StoredFact]()
        for seq, body in bodies.items():
            (fact,) = self.facts(after_seq=seq - 1, limit=1)
            now.append(replace(fact, body_json=canonical_bytes(body)))
        self._page.guard.on_watch = False
        try:
            (trigger,) = driver.execute("SELECT sql FROM sqlite_master WHERE name = 'facts_unchanged'").fetchone()
            driver.execute("PRAGMA secure_delete = ON")
            driver.execute("DROP TRIGGER facts_unchanged")
            driver.executemany("UPDATE facts SET body = ? WHERE seq = ?", [(fact.body_json, fact.seq) for fact in now])
            driver.execute(trigger)
        finally:
            self._page.guard.on_watch = True
        return {fact.seq: fact.leaf_as(fact.seq) for fact in now}

    def finish(self) -> None:
        """Make it part of the commit. Raises `Refused("silent_write")` if rows changed and no fact says so."""
        if self._touched:
            self.executemany(_TOUCH, self._touched.items())
        self.end()
        self._page.guard.on_watch = False
        if self._changes_before is None:
            return
        driver = self._connection
        if not self.has_recorded and driver.total_changes != self._changes_before:
            raise Refused("silent_write", "a transaction changed rows without recording a fact")
        driver.execute("RELEASE part")

    def undo(self) -> None:
        """Take back this part alone."""
        self.end()
        page = self._page
        page.guard.on_watch = False
        page.last_seq = self._seq_before
        if self._changes_before is None:
            del page.rows[self._rows_before :]
        else:
            page.rows.clear()
            self._connection.execute("ROLLBACK TO part")
            self._connection.execute("RELEASE part")

    def _driver(self) -> sqlite3.Connection:
        self._check_open()
        page, driver = self._page, self._connection
        if not driver.in_transaction:  # SQLite ended it with an error that was caught
            raise Broken("the transaction is lost")
        if page.rows or self._changes_before is None:
            self._bring_up_to_date(page, driver)
        return driver

    def _bring_up_to_date(self, page: Page, driver: sqlite3.Connection) -> None:
        """Insert the facts so far, those of others before the savepoint; then let the guard look."""
        page.guard.on_watch = False
        if self._changes_before is None:
            mine = page.rows[self._rows_before :]
            del page.rows[self._rows_before :]
            page.flush()
            driver.execute("SAVEPOINT part")
            page.rows += mine
            self._changes_before = driver.total_changes
        page.flush()
        page.guard.on_watch = True
