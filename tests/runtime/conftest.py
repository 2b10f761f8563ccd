"""What the stories share: one process that gives birth to all that are killed."""

from collections.abc import Iterator

import pytest

from .lives import Nursery


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()
