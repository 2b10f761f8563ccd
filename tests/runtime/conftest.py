"""What the stories share: one process that gives birth to all that are killed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .lives import Nursery


@pytest.fixture(scope="module")
def nursery(self_tested: Callable[[Path], Path]) -> Iterator[Nursery]:
    nursery = Nursery(self_tested)
    yield nursery
    nursery.close()
