"""Books for the tests: the real SQLite in a folder of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database


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
