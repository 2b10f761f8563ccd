"""One transaction: what may be done in it, and what is refused at its end."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from earnest.effects.ground.storage.driver import SqlParameters
from earnest.effects.ground.storage.engine import Cursor, WriteLink
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.reader import ENDED, BooksReader
from earnest.effects.ground.storage.schema import Schema
from earnest.foundation.canonical import INTEGER_MAX, JsonObject, canonical_bytes, leaf_hash
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact

KIND_CHARACTERS_MAX: Final = 64
SUBJECT_CHARACTERS_MAX: Final = 512
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
WAITING_BYTES_MAX: Final = 1024 * 1024
"""Of the bodies of facts that wait while another part begins."""

FactRow: TypeAlias = tuple[int, int, str, str, bytes, bytes]
"""seq, at_ms, kind, subject, body, leaf: the columns of `facts`."""

_APPEND: Final = "INSERT INTO facts (seq, at_ms, kind, subject, body, leaf) VALUES (?, ?, ?, ?, ?, ?)"
_REWRITE: Final = "UPDATE facts SET body = ? WHERE seq = ?"
_TOUCH: Final = (
    "INSERT INTO touches (subject, seq) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET seq = excluded.seq"
)
_BESIDE: Final = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) (leases|request_counts)\b")
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
        self.greatest: dict[str, int] = {}
        """The greatest number of a column, by table, as far as this commit has asked and counted on."""
        self.last_seq = 0
        self._size_bytes = 0

    def begin(self, ahead: Ahead = ()) -> None:
        """Start empty, after the last fact, whichever process has recorded it; `ahead`: what will be looked for."""
        self.writing.on_watch = False
        self.rows.clear()
        self.kinds.clear()
        self.greatest.clear()
        self._size_bytes = 0
        self.last_seq = self.writing.begin(ahead)

    def begin_part(self) -> None:
        """Between two parts: insert what was recorded if it is much."""
        if self._size_bytes > WAITING_BYTES_MAX:
            self.flush()

    def add(self, fact: Fact) -> int:
        """The next fact; its number."""
        row = row_of(fact, self.last_seq + 1)
        self.last_seq, *_, body, _ = row
        self.rows.append(row)
        self.kinds.add(fact.kind)
        self._size_bytes += len(body)
        return self.last_seq

    def flush(self) -> None:
        """Insert what was recorded. The guard does not look."""
        if self.rows:
            self.writing.on_watch = False
            rows, self.rows, self._size_bytes = self.rows, [], 0
            self.writing.change(_APPEND, rows)


class Transaction(BooksReader):
    """One function's part of a commit. It can be undone without the parts of others.

    The facts that it records are inserted at the end, together with everybody's, unless it executes a statement of its
    own, which might read them. The first that changes rows opens a savepoint.
    """

    link: WriteLink

    def __init__(self, page: PendingCommit) -> None:
        super().__init__(page.writing, page.schema)
        self._page = page
        self.greatest: Final = page.greatest
        self._rows_before = len(page.rows)
        self._others: list[FactRow] = []  # recorded before, and inserted within this part
        self._seq_before = page.last_seq
        self.has_recorded: bool = False
        """Set once a fact stands in it."""
        self.is_marked: bool = False
        """Set once it can be undone alone."""
        self._aside = 0
        self._touched: dict[str, int] = {}

    def record(self, fact: Fact, touching: Iterable[str] = ()) -> int:
        """Append a fact in this commit; its `seq`. Raises `Refused("fact_not_recordable")`.

        `touching`: the accounts whose views it may change, and `category:<name>` for whoever looks for such jobs. See
        `BooksReader.touched`; it is written once for each, at the end.
        """
        seq = self._page.add(fact)
        self.has_recorded = True
        for subject in touching:
            self._touched[subject] = seq
        return seq

    def execute(self, sql: str, parameters: SqlParameters = ()) -> Cursor:
        """See `BooksReader.execute`."""
        return self._settled().session.execute(sql, parameters)

    def aside(self, sql: str, parameters: SqlParameters) -> Cursor:
        """Change rows of `leases` or `request_counts`, which no fact makes and none need be recorded for."""
        if not _BESIDE.match(sql):
            raise Broken(f"rows of facts are changed by facts: {sql[:80]}")
        cursor = self.execute(sql, parameters)
        if not self.has_recorded:  # else nobody counts, and the statement may wait
            self._aside += cursor.rowcount
        return cursor

    def open(self) -> None:
        """Have it undone alone from here on, and let the guard look."""
        if not self.link.session.in_transaction:  # the engine ended it with an error that was caught
            raise Broken("the transaction is lost")
        if not self.is_marked:
            self.is_marked = True
            self.link.savepoint()
            self.link.on_watch = True

    def rewrite(self, bodies: Mapping[int, JsonObject]) -> dict[int, bytes]:
        """Put other bodies into recorded facts, by number, as bytes that leave nothing of the old ones in their pages.

        The leaves stay, so every head still fits, and a verification names these facts unless a later one says which
        leaf each has now: those leaves are the answer.
        """
        session, now = self._settled().session, list[StoredFact]()
        for seq, body in bodies.items():
            (fact,) = self.facts(after_seq=seq - 1, limit=1)
            now.append(fact._replace(body_json=canonical_bytes(body)))
        with self.link.rewriting():
            session.executemany(_REWRITE, [(fact.body_json, fact.seq) for fact in now])
        return {fact.seq: fact.leaf_as(fact.seq) for fact in now}

    def finish(self) -> None:
        """Make it part of the commit. Raises `Refused("silent_write")` if rows changed and no fact says so."""
        page, writing = self._page, self.link
        if self._touched:
            self.open()
            writing.change(_TOUCH, list(self._touched.items()))
        writing.on_watch = False
        if not self.is_marked:
            return
        if not self.has_recorded and writing.changes != self._aside:
            raise Refused("silent_write", "a transaction changed rows without recording a fact")
        if writing.is_careful:
            page.flush()
        writing.release()

    def undo(self) -> None:
        """Take back this part alone."""
        page = self._page
        page.writing.on_watch = False
        page.last_seq = self._seq_before
        page.greatest.clear()
        page.rows[:] = self._others or page.rows[: self._rows_before]
        if self.is_marked:
            page.writing.undo()

    def end(self) -> None:
        """See `BooksReader.end`."""
        self.link = self._page = cast("Any", ENDED)

    def _settled(self) -> WriteLink:
        self.open()
        if self._page.rows:
            if not self._others:
                self._others = self._page.rows[: self._rows_before]
                self._aside += len(self._others)
            self._page.flush()
            self.link.on_watch = True
        return self.link


def row_of(fact: Fact, seq: int) -> FactRow:
    """The row that `fact` becomes. Raises `Refused("fact_not_recordable")` for what is no JSON or passes a limit."""
    if not 1 <= len(fact.kind) <= KIND_CHARACTERS_MAX or len(fact.subject) > SUBJECT_CHARACTERS_MAX:
        raise Refused("fact_not_recordable", f"kind or subject of a fact is too long: {fact.kind[:80]!r}")
    if "\0" in fact.kind or "\0" in fact.subject:  # no text of PostgreSQL
        raise Refused("fact_not_recordable", f"kind or subject of a fact has a NUL character: {fact.kind[:80]!r}")
    if type(fact.at_ms) is not int or not 0 <= fact.at_ms <= INTEGER_MAX:
        raise Refused("fact_not_recordable", f"{fact.kind} is at no instant: {fact.at_ms!r}")
    try:
        body = canonical_bytes(fact.body)
        leaf = leaf_hash(seq, fact.at_ms, fact.kind, fact.subject, body)
    except ValueError as error:
        raise Refused("fact_not_recordable", f"{fact.kind} has no JSON form: {error}") from error
    if len(body) > BODY_BYTES_MAX or body[:1] != b"{":
        raise Refused("fact_not_recordable", f"the body of {fact.kind} is no object of at most {BODY_BYTES_MAX} bytes")
    return seq, fact.at_ms, fact.kind, fact.subject, body, leaf
