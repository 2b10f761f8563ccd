"""What any test may ask for: how property tests run, and books on either engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import postgresql
from earnest.effects.ground.storage.place import Books, ServerBooks

# On a busy machine as on an idle one: nothing fails because it took long.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a server of PostgreSQL."""
    with postgresql.server() as address:
        yield address


@pytest.fixture
def postgresql_address(postgresql_server: str) -> Iterator[str]:
    """The address of an empty database."""
    with postgresql.database(postgresql_server) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Books:
    """Where books may lie that nobody has begun: a file, then a database of a server."""
    if request.param == "sqlite":
        return tmp_path / "books.sqlite3"
    return ServerBooks(request.getfixturevalue("postgresql_address"), tmp_path)
