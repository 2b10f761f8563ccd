"""Servers for the stores that lie on one."""

import pytest

from earnest.effects.ground.storage.dialects import POSTGRESQL
from earnest.effects.ground.storage.postgresql_session import connect
from earnest.effects.ground.storage.schema import BOOKS


@pytest.fixture
def kv_address(postgresql_address: str) -> str:
    """The address of a database with the tables of the books."""
    connection = connect(postgresql_address)
    connection.execute(BOOKS.script(dialect=POSTGRESQL).encode())
    connection.close()
    return postgresql_address
