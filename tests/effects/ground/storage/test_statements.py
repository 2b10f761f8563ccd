"""Is every statement of the program one that SQLite and PostgreSQL understand alike?"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from typing import Any

import psycopg
import pytest

from earnest.effects.ground.storage.dialects import POSTGRESQL, SQLITE, numbered
from earnest.effects.ground.storage.postgresql_session import PostgresqlSession, connect
from earnest.effects.ground.storage.postgresql_waiting import listed
from earnest.effects.ground.storage.schema import BOOKS

from .statements import Statement, rows_of_the_program, statements

MEANS_TWO_THINGS = {
    "LIKE, whose case counts in one of them": r"\bI?LIKE\b",
    "division, which keeps a remainder in one of them": r"\s/\s",
    "a choice of one engine": r"\b(iif|ifnull|nullif_|total|group_concat|instr|printf|typeof|strftime)\s*\(",
    "the greater of two as max": r"\b(max|min)\s*\([^()]*,",
    "a hint": r"\b(INDEXED BY|NOT INDEXED)\b",
    "a numbered parameter": r"\?\d",
    "a row's hidden number": r"\b(rowid|oid|ctid)\b",
    "an upsert of one engine": r"\bOR (IGNORE|REPLACE|ABORT|ROLLBACK|FAIL)\b",
    "JSON, whose functions differ": r"\bjsonb?_|->",
    "a cast of one engine": r"::",
    "a boolean as a number": r"\bsum\s*\((?!CASE)[^()]*[=<>]",
}


@pytest.fixture(scope="module")
def every() -> list[Statement]:
    return list(statements())


@pytest.fixture
def postgresql(postgresql_address: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(postgresql_address, autocommit=True) as connection:
        connection.execute(BOOKS.script(dialect=POSTGRESQL).encode())
        yield connection


@pytest.mark.slow
def test_all_statements_are_found(every: list[Statement]) -> None:
    assert len({statement.sql for statement in every}) > 500
    files = {statement.place.partition(":")[0] for statement in every}
    assert {"views/home.py", "views/accounts.py", "runtime/timers.py", "rows of claims"} <= files


@pytest.mark.parametrize("meaning", MEANS_TWO_THINGS)
def test_no_statement_says_what_the_two_engines_take_differently(every: list[Statement], meaning: str) -> None:
    wrong = re.compile(MEANS_TWO_THINGS[meaning], re.IGNORECASE)
    assert [statement for statement in every if wrong.search(re.sub(r"'[^']*'", "''", statement.sql))] == []


def test_sqlite_prepares_every_statement(every: list[Statement]) -> None:
    failures = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(BOOKS.script())
        for statement in every:
            names = numbered(statement.sql)[1]
            values: Any = dict.fromkeys(names, 0) if names else (0,) * statement.sql.count("?")
            try:
                connection.execute(f"EXPLAIN {statement.sql}", values)
            except sqlite3.Error as error:
                failures.append((statement, str(error)))
    assert failures == []


@pytest.mark.slow
def test_postgresql_prepares_every_statement(
    every: list[Statement], postgresql: psycopg.Connection[tuple[Any, ...]]
) -> None:
    failures = []
    for statement in every:
        try:
            sql = numbered(statement.sql.replace(SQLITE.facts, POSTGRESQL.facts))[0]
            postgresql.execute(f"PREPARE one AS {sql}".encode())
            postgresql.execute("DEALLOCATE one")
        except psycopg.Error as error:
            failures.append((statement, str(error)))
    assert failures == []


@pytest.mark.slow
def test_postgresql_looks_keys_up_by_an_index_though_the_plan_was_made_for_an_empty_table(
    postgresql: psycopg.Connection[tuple[Any, ...]], postgresql_address: str
) -> None:
    with closing(connect(postgresql_address)) as connection:
        session, plans = PostgresqlSession(connection), dict[str, str]()
        connection.execute(b"SET plan_cache_mode = force_generic_plan")  # as after the first few
        for table, rows in rows_of_the_program().items():
            found = connection.execute(f"EXPLAIN {session.planned(rows.lookup.select_listed, listed(['a']))}".encode())
            plans[table] = "\n".join(line for (line,) in found)
    assert len(plans) > 30
    assert [table for table, plan in plans.items() if "Index" not in plan or "Seq Scan" in plan] == []


def test_no_order_depends_on_where_an_engine_puts_what_is_missing(every: list[Statement]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(BOOKS.script())
        optional = {
            name
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for _, name, _, is_filled, _, _ in connection.execute(f"PRAGMA table_info({table})")
            if not is_filled
        }
    wrong = []
    for statement in every:
        for ordered in re.findall(r"ORDER BY ([^()]*)", statement.sql):
            for column in optional.intersection(re.findall(r"\w+", ordered)):
                is_bound = re.search(rf"\b{column}\b( IS NOT NULL|\)? *(<|>|BETWEEN))", statement.sql)
                if not is_bound and FILLED.get(column, "?") not in statement.sql:
                    wrong.append((statement, column))
    assert wrong == []


FILLED = {"submitted_at_ms": "state = 'submitted'", "review_ends_at_ms": "state IN ('submitted', 'verified')"}
"""Columns that always hold something in the rows that a condition lets through."""


def test_the_fields_of_every_value_are_the_columns_of_its_table() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(BOOKS.script())
        for table, rows in rows_of_the_program().items():
            columns = {
                name: (kind, bool(is_filled))
                for _, name, kind, is_filled, _, _ in connection.execute(f"PRAGMA table_info({table})")
            }
            declared = {each.name: _column(str(each.type)) for each in fields(rows.value)}
            assert declared == {name: columns[name] for name in declared}
            assert columns.keys() == declared.keys()
            assert rows.key in _unique(connection, table)


def _unique(connection: sqlite3.Connection, table: str) -> set[str]:
    return {
        name
        for _, index, is_unique, *_ in connection.execute(f"PRAGMA index_list({table})")
        for _, _, name in connection.execute(f"PRAGMA index_info({index})")
        if is_unique
    }


def _column(annotation: str) -> tuple[str, bool]:
    """The type of the column for a field, and whether it always holds something."""
    is_number = annotation.removeprefix("<class '").startswith(("int", "bool"))
    return "INTEGER" if is_number else "TEXT", "None" not in annotation
