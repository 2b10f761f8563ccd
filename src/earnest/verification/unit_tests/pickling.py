"""Pickles of the submission's objects, made and read in its own process: what is the test's is kept beside them."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

from earnest.verification.unit_tests.theirs import TheirClass


class Pickles:
    """`is_kept` tells what stands for itself: things of the test, and classes that a test derived."""

    def __init__(self, is_kept: Callable[[Any], bool]) -> None:
        self._is_kept = is_kept
        self._kept: list[Any] = []

    def dumps(self, thing: object) -> bytes:
        """The pickle of an object."""
        file = io.BytesIO()
        pickler = pickle.Pickler(file)
        pickler.persistent_id = self._number  # type: ignore[method-assign]
        pickler.dump(thing)
        return file.getvalue()

    def loads(self, data: bytes) -> object:
        """Another object that is like it."""
        unpickler = pickle.Unpickler(io.BytesIO(data))  # noqa: S301 - whatever it runs is the submission's, and here
        unpickler.persistent_load = self._another  # type: ignore[method-assign]
        return unpickler.load()

    def _number(self, thing: Any) -> int | None:
        if not self._is_kept(thing):
            return None
        self._kept.append(thing)
        return len(self._kept) - 1

    def _another(self, number: Any) -> object:
        thing = self._kept[number]
        return copy.deepcopy(thing) if isinstance(type(thing), TheirClass) else thing
