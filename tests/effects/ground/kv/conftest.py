"""Servers for the stores that lie on one."""

from collections.abc import Iterator

import pytest

import postgresql
from earnest.effects.ground.storage.dialects import POSTGRESQL
from earnest.effects.ground.storage.postgresql_session import connect
from earnest.effects.ground.storage.schema import BOOKS


@pytest.fixture(scope="session")
def kv_server() -> Iterator[str]:
    """The address of a server of PostgreSQL."""
    with postgresql.server() as address:
        yield address


@pytest.fixture
def kv_address(kv_server: str) -> Iterator[str]:
    """The address of a database with the tables of the books."""
    with postgresql.database(kv_server) as address:
        connection = connect(address)
        connection.execute(BOOKS.script(dialect=POSTGRESQL).encode())
        connection.close()
        yield address
