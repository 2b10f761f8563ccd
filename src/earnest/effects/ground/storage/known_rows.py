"""Rows that transactions on a server have read or changed. Under the turn nobody else can change them meanwhile, and
from one turn to the next nobody has who has recorded no fact.

Each look at a server is a trip, during which everybody waits. What the parts of a group say they will look for is read
for all of them at once; what they then find here, they need not ask for.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from earnest.effects.ground.storage.dialects import STATEMENTS_KEPT
from earnest.effects.ground.storage.driver import SqlValue

ONE_BY_ONE_MAX: Final = 4
"""So many rows are looked up one by one: SQLite makes a table of a list of keys."""
ROWS_KEPT_MAX: Final = 4_096
"""Of a table, from one transaction to the next."""
ROW_CHARACTERS_KEPT_MAX: Final = 2_048
"""In the texts of a row that stays known longer than a transaction."""
_ID_ENDS: Final = re.compile("[:/]")
_CHANGED: Final = re.compile(r"\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(\w+)", re.IGNORECASE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup:
    """How the rows of a table are looked up: these columns, by this key, which is one of them."""

    table: str
    key: str
    names: tuple[str, ...]

    @cached_property
    def all(self) -> str:
        """The statement that finds all rows."""
        return f"SELECT {', '.join(self.names)} FROM {self.table}"  # noqa: S608 - names of ours

    @cached_property
    def place(self) -> int:
        """Of the key among the columns."""
        return self.names.index(self.key)

    @lru_cache(maxsize=STATEMENTS_KEPT)  # noqa: B019 - there are as many as tables
    def greatest(self, column: str) -> str:
        """The statement that finds the greatest number of a column, 0 where there are no rows."""
        return f"SELECT coalesce(max({column}), 0) FROM {self.table}"  # noqa: S608 - names of ours

    @lru_cache(maxsize=STATEMENTS_KEPT)  # noqa: B019 - there are as many as tables
    def select_by(self, count: int) -> str:
        """The statement that finds rows by so many keys."""
        if count <= ONE_BY_ONE_MAX:
            return " UNION ALL ".join([f"{self.all} WHERE {self.key} = ?"] * count)
        return f"{self.all} WHERE {self.key} IN ({', '.join('?' * count)})"

    @cached_property
    def select_listed(self) -> str:
        """The statement that finds rows by a list of keys."""
        return f"{self.all} WHERE {self.key} = ANY($1)"

    @cached_property
    def check_none(self) -> str:
        """The statement that fails where there is a row with one of a list of keys."""
        return f"SELECT 1 / (NOT EXISTS (SELECT FROM {self.table} WHERE {self.key} = ANY($1)))::INT"  # noqa: S608


class Sought(NamedTuple):
    """What a part will look for: rows by key, the greatest number of a column, or the rows that meet conditions.

    `conditions` are as those of `Rows.where`, on the columns of this table alone. `are_new`: there is hardly a row with
    one of these keys yet.
    """

    lookup: Lookup
    keys: tuple[str, ...] = ()
    greatest: str = ""
    conditions: str = ""
    parameters: tuple[SqlValue, ...] = ()
    are_new: bool = False


Ahead: TypeAlias = Sequence[Sought]
"""What a part will look for, as far as it is known before it begins. It need not be all, nor right."""


_Known: TypeAlias = tuple[tuple[str, ...], tuple[Any, ...]]
"""The names of columns, and what they hold."""


class KnownRows:
    """By table and key; None for a row that is not there."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, _Known | None]] = {}
        self._greatest: dict[str, dict[str, int]] = {}
        self._meeting: dict[str, dict[Sought, Sequence[tuple[Any, ...]]]] = {}
        self._stirred: set[str] = set()
        self._drawn: set[str] = set()
        self._large: list[tuple[str, str]] = []

    def clear(self) -> None:
        """Nothing is known."""
        self._rows.clear()
        self._greatest.clear()
        self._meeting.clear()
        self._drawn.clear()
        self._large.clear()

    def keep(self) -> None:
        """A transaction begins in which all of it still holds. What met conditions is rarely asked for again."""
        self._meeting.clear()
        self._drawn.clear()
        for table, key in self._large:
            self._rows.get(table, {}).pop(key, None)
        self._large.clear()
        for rows in self._rows.values():
            for key in tuple(islice(rows, max(len(rows) - ROWS_KEPT_MAX, 0))):
                del rows[key]

    def begin_part(self) -> None:
        """What is changed from now on may be taken back."""
        self._stirred.clear()

    def undo_part(self) -> None:
        """Forget what the part has changed."""
        for table in self._stirred:
            self._forget(table)

    def find(self, lookup: Lookup, keys: Collection[str]) -> dict[str, tuple[Any, ...]]:
        """The rows that there are, by key. Raises `KeyError` where that is not known."""
        if not keys:
            return {}
        rows = self._rows[lookup.table]
        return {key: _columns(known, lookup.names) for key in keys if (known := rows[key]) is not None}

    def draw(self, drawn: str) -> None:
        """An id that the part under way has drawn: only what it has put itself has a key that begins with it."""
        self._drawn.add(drawn)

    def is_drawn(self, key: str) -> bool:
        """Whether it begins with such an id."""
        return _ID_ENDS.split(key, 1)[0] in self._drawn

    def learn(self, lookup: Lookup, key: str, row: Sequence[Any] | None) -> None:
        """What the server has told."""
        self._hold(lookup.table, key, None if row is None else (lookup.names, tuple(row)))

    def put(self, lookup: Lookup, key: str, row: Sequence[Any] | None) -> None:
        """What a part has made of a row; None where it has removed it."""
        self._stirred.add(lookup.table)
        self._meeting.pop(lookup.table, None)
        self.learn(lookup, key, row)
        greatest = self._greatest.get(lookup.table)
        if not greatest:
            return
        now = {} if row is None else dict(zip(lookup.names, row, strict=True))
        for column in tuple(greatest):
            if column in now:
                greatest[column] = max(greatest[column], now[column])
            else:
                del greatest[column]

    def change(self, lookup: Lookup, key: str, changes: Mapping[str, Any]) -> None:
        """What a part has changed in a row that is there."""
        self._stirred.add(lookup.table)
        self._meeting.pop(lookup.table, None)
        known = self._rows.get(lookup.table, {}).pop(key, None)
        if known is not None:
            now = {**dict(zip(*known, strict=True)), **changes}
            self._hold(lookup.table, key, (tuple(now), tuple(now.values())))
        for column in changes:
            self._greatest.get(lookup.table, {}).pop(column, None)

    def unknown(self, ahead: Ahead) -> tuple[dict[Lookup, dict[str, None]], dict[tuple[str, str], Lookup]]:
        """Which keys are not known, and the greatest numbers of which columns of tables."""
        asked: dict[Lookup, dict[str, None]] = {}
        columns: dict[tuple[str, str], Lookup] = {}
        for lookup, keys, column, *_ in ahead:
            rows = self._rows.get(lookup.table, {})
            for key in keys:
                if key not in rows:
                    asked.setdefault(lookup, {})[key] = None
            if column and column not in self._greatest.get(lookup.table, {}):
                columns[lookup.table, column] = lookup
        return asked, columns

    def covers(self, ahead: Ahead) -> bool:
        """Whether all that will be looked for is known, but for rows that are new."""
        return not any(one.conditions for one in ahead) and not any(
            self.unknown([one for one in ahead if not one.are_new])
        )

    def greatest(self, table: str, column: str) -> int:
        """The greatest number of a column, 0 where there is none. Raises `KeyError` where that is not known."""
        return self._greatest[table][column]

    def learn_greatest(self, table: str, column: str, number: int) -> None:
        """What the server has told."""
        self._greatest.setdefault(table, {})[column] = number

    def meeting(self, one: Sought) -> Sequence[tuple[Any, ...]] | None:
        """The rows that meet the conditions; None where they are not known."""
        return self._meeting.get(one.lookup.table, {}).get(one)

    def learn_meeting(self, one: Sought, rows: Sequence[tuple[Any, ...]]) -> None:
        """What the server has told."""
        self._meeting.setdefault(one.lookup.table, {})[one] = rows

    def stir(self, sql: str) -> None:
        """Forget what a statement may have changed."""
        for table in _changed_by(sql):
            self._stirred.add(table)
            self._forget(table)

    def _hold(self, table: str, key: str, known: _Known | None) -> None:
        self._rows.setdefault(table, {})[key] = known
        texts = [len(value) for value in known[1] if type(value) is str] if known else ()
        if len(key) + sum(texts) > ROW_CHARACTERS_KEPT_MAX:
            self._large.append((table, key))

    def _forget(self, table: str) -> None:
        self._drawn.clear()
        self._rows.pop(table, None)
        self._greatest.pop(table, None)
        self._meeting.pop(table, None)


def _columns(known: _Known, names: tuple[str, ...]) -> tuple[Any, ...]:
    if known[0] is names:
        return known[1]
    row = dict(zip(*known, strict=True))
    return tuple([row[name] for name in names])


@lru_cache(maxsize=STATEMENTS_KEPT)
def _changed_by(sql: str) -> tuple[str, ...]:
    return tuple(_CHANGED.findall(sql))
