"""One transaction: what may be done in it, and what is refused at its end."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from earnest.effects.ground.storage.driver import SqlParameters, SqlValue
from earnest.effects.ground.storage.engine import Cursor, DriverSession, WriteLink
from earnest.effects.ground.storage.facts import FactRow, StoredFact, row_of
from earnest.effects.ground.storage.known_rows import Ahead, KnownRows, Lookup
from earnest.effects.ground.storage.reader import LATE, BooksReader
from earnest.effects.ground.storage.schema import Schema
from earnest.foundation.canonical import JsonObject, canonical_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact

_APPEND: Final = "INSERT INTO facts (seq, at_ms, kind, subject, body, leaf) VALUES (?, ?, ?, ?, ?, ?)"
_REWRITE: Final = "UPDATE facts SET body = ? WHERE seq = ?"
_TOUCH: Final = (
    "INSERT INTO touches (subject, seq) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET seq = excluded.seq"
)
_BESIDE: Final = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) leases\b")
"""Changes of the rows that no fact makes."""


class PendingCommit:
    """What one commit will hold: the facts recorded for it but not yet inserted, and the last number given out.

    `kinds` are those of all facts that were recorded for it, a part that was undone included.
    """

    def __init__(self, writing: WriteLink, schema: Schema) -> None:
        self.writing = writing
        self.schema = schema
        self.rows: list[FactRow] = []
        self.kinds: set[str] = set()
        self.last_seq = 0

    def begin(self, ahead: Ahead = ()) -> None:
        """Start empty, after the last fact, whichever process has recorded it; `ahead`: what will be looked for."""
        self.writing.on_watch = False
        self.rows.clear()
        self.kinds.clear()
        self.last_seq = self.writing.begin(ahead)

    def flush(self) -> None:
        """Insert what was recorded."""
        if self.rows:
            rows, self.rows = self.rows, []
            self.writing.change(_APPEND, rows)


class Transaction(BooksReader):
    """One function's part of a commit. It can be undone without the parts of others.

    A function that only records facts never reaches the database: its facts are inserted together with everybody's. The
    first statement of any other kind opens a savepoint.
    """

    def __init__(self, page: PendingCommit) -> None:
        super().__init__(page.writing, page.schema)
        self._page = page
        self._rows_before = len(page.rows)
        self._seq_before = page.last_seq
        self._is_marked = False
        self._aside = 0
        self._touched: dict[str, int] = {}

    def record(self, fact: Fact) -> int:
        """Append a fact in this commit; its `seq`. Raises `Refused("fact_not_recordable")`."""
        self._check_open()
        row = row_of(fact, self._page.last_seq + 1)
        self._page.rows.append(row)
        self._page.kinds.add(fact.kind)
        self._page.last_seq = row[0]
        return row[0]

    def execute(self, sql: str, parameters: SqlParameters = ()) -> Cursor:
        """See `BooksReader.execute`: here, as most of a story is statements."""
        return self._session().execute(sql, parameters)

    def find(self, lookup: Lookup, keys: Collection[str]) -> dict[str, tuple[Any, ...]]:
        """See `BooksReader.find`, and `execute`."""
        self._session()
        return self._link.find(lookup, keys)

    @property
    def has_recorded(self) -> bool:
        """True once a fact stands in it."""
        return self._page.last_seq != self._seq_before

    def executemany(self, sql: str, rows: Iterable[SqlParameters]) -> None:
        """One statement for each of `rows`, together."""
        self._session().executemany(sql, rows)

    def aside(self, sql: str, parameters: SqlParameters) -> int:
        """Change rows that no fact makes, those of `leases`; how many. No fact need be recorded for it."""
        if not _BESIDE.match(sql):
            raise Broken(f"rows of facts are changed by facts: {sql[:80]}")
        changed = self._session().execute(sql, parameters).rowcount
        self._aside += changed
        return changed

    def change(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> KnownRows | None:
        """As `executemany`, for whoever tells the rows that are known, if any are, what became of them."""
        self._session()
        return self._page.writing.change(sql, rows)

    def look(self, ahead: Ahead) -> None:
        """Say what will be looked for: where each look is a trip, it is one."""
        if self._page.writing.known is not None:
            self._session()
            self._page.writing.look(ahead)

    def open(self) -> None:
        """Have it undone alone, whatever it does."""
        self._session()

    def touch(self, seq: int, subjects: Iterable[str]) -> None:
        """Note for `touches.touched` that fact `seq` concerns `subjects`; written once for each, at the end."""
        self._touched.update(dict.fromkeys(subjects, seq))

    def rewrite(self, bodies: Mapping[int, JsonObject]) -> dict[int, bytes]:
        """Put other bodies into recorded facts, by number, as bytes that leave nothing of the old ones in their pages.

        The leaves stay, so every head still fits, and a verification names these facts unless a later one says which
        leaf each has now: those leaves are the answer.
        """
        session, now = self._session(), list[StoredFact]()
        for seq, body in bodies.items():
            (fact,) = self.facts(after_seq=seq - 1, limit=1)
            now.append(replace(fact, body_json=canonical_bytes(body)))
        with self._page.writing.rewriting():
            session.executemany(_REWRITE, [(fact.body_json, fact.seq) for fact in now])
        return {fact.seq: fact.leaf_as(fact.seq) for fact in now}

    def finish(self) -> None:
        """Make it part of the commit. Raises `Refused("silent_write")` if rows changed and no fact says so."""
        if self._touched:
            self.executemany(_TOUCH, self._touched.items())
        self.end()
        writing = self._page.writing
        writing.on_watch = False
        if not self._is_marked:
            return
        if not self.has_recorded and writing.changes != self._aside:
            raise Refused("silent_write", "a transaction changed rows without recording a fact")
        if writing.is_careful:
            self._page.flush()
        writing.release()

    def undo(self) -> None:
        """Take back this part alone."""
        self.end()
        page = self._page
        page.writing.on_watch = False
        page.last_seq = self._seq_before
        if not self._is_marked:
            del page.rows[self._rows_before :]
        else:
            page.rows.clear()
            page.writing.undo()

    def _session(self) -> DriverSession:
        if self._ended:
            raise Broken(LATE)
        page, session = self._page, self._page.writing.session
        if not session.in_transaction:  # the engine ended it with an error that was caught
            raise Broken("the transaction is lost")
        if page.rows or not self._is_marked:
            self._bring_up_to_date(page, page.writing)
        return session

    def _bring_up_to_date(self, page: PendingCommit, writing: WriteLink) -> None:
        """Insert the facts so far, those of others before the savepoint; then let the guard look."""
        writing.on_watch = False
        if not self._is_marked:
            mine = page.rows[self._rows_before :]
            del page.rows[self._rows_before :]
            page.flush()
            self._is_marked = True
            writing.savepoint()
            page.rows += mine
        page.flush()
        writing.on_watch = True
