"""The tables of a database of PostgreSQL, as its catalog tells them."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import psycopg

_BESIDE: Final = "earnest_expected"
_COLUMNS: Final = """
SELECT 'table ' || table_name, string_agg(concat_ws(' ', column_name, data_type, collation_name, is_nullable,
  column_default), ', ' ORDER BY ordinal_position) FROM information_schema.columns
WHERE table_schema = current_schema() GROUP BY table_name
"""
_INDEXES: Final = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
_CHECKS: Final = """
SELECT 'check ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND contype = 'c'
"""
_TRIGGERS: Final = """
SELECT 'trigger ' || tgname, tgenabled::text || ' ' || pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal
"""
_FUNCTIONS: Final = """
SELECT 'function ' || proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
"""


def objects_in(connection: "psycopg.Connection[Any]") -> dict[str, str]:
    """Tables, indexes, checks, triggers and functions of the current schema, by name, without the schema's."""
    (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
    found: dict[str, str] = {}
    for sql in (_COLUMNS, _INDEXES, _CHECKS, _TRIGGERS, _FUNCTIONS):
        found |= {name: told.replace(f"{schema}.", "") for name, told in connection.execute(sql.encode()).fetchall()}
    return found


def objects_of(connection: "psycopg.Connection[Any]", script: str) -> dict[str, str]:
    """The same of what a script makes, in a schema of its own that is taken back."""
    connection.execute("BEGIN")
    try:
        connection.execute(f"CREATE SCHEMA {_BESIDE}; SET LOCAL search_path TO {_BESIDE}".encode())
        connection.execute(script.encode())
        return objects_in(connection)
    finally:
        connection.execute("ROLLBACK")
