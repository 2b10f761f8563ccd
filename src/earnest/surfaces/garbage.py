"""When a process looks for garbage: hardly while it loads, as all of that stays; in small pieces while it works."""

import gc
from typing import Final

LOADED_OBJECTS_MAX: Final = 100_000
"""Before they are looked through. Loading makes fewer."""
YOUNG_OBJECTS_MAX: Final = 10_000
"""The same of a process that works: bounds how long it stands still for that."""


def load() -> None:
    """To be called first."""
    gc.set_threshold(LOADED_OBJECTS_MAX)


def work() -> None:
    """To be called when what a process needs is loaded: nothing of that is looked through again."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX)


def end() -> None:
    """To be called last: what is left goes with the process."""
    gc.freeze()
