"""Books for the tests: the real SQLite in a folder of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import postgresql
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books, ServerBooks


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.sqlite"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def database(path: Path, clock: VirtualClock) -> Iterator[Database]:
    opened = Database.open(path, clock)
    yield opened
    opened.close()


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
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Books]:
    if request.param == "sqlite":
        yield tmp_path / "books.sqlite3"
        return
    with postgresql.database(request.getfixturevalue("postgresql_server")) as address:
        yield ServerBooks(address, tmp_path)
