"""What tests set for their whole process, noticed so that the submission finds it set: chance, numbers, library names.

What is put in place of a name of the library is noted when it is put there; the rest is compared before each call, and
chance and decimal contexts only once a test has set them.
"""

import decimal
import os
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, Final

from earnest.verification.unit_tests.library import is_library, known_exception

UNWATCHED: Final = frozenset({"warnings", "linecache", "pdb", "doctest", "unittest"})
"""Modules whose names change in the ordinary course of tests."""
OWN_NAMES: Final = {
    "sys": frozenset(
        {
            *("stdin", "stdout", "stderr", "argv", "path", "modules", "meta_path", "path_hooks", "path_importer_cache"),
            *("displayhook", "excepthook", "unraisablehook", "dont_write_bytecode", "last_type", "last_value"),
            *("last_traceback", "last_exc", "tracebacklimit"),
        }
    ),
    "random": frozenset({"seed", "setstate"}),
    "decimal": frozenset({"getcontext", "setcontext", "localcontext"}),
    "os": frozenset({"chdir", "environ"}),
    "threading": frozenset({"excepthook"}),
}
"""Names that are told in another way, or concern the test's process alone."""
PATCHING: Final = ("unittest.mock", "_pytest.monkeypatch")
_NONE: Final = object()


class Watched(types.ModuleType):
    """A module of the library whose names may be replaced."""

    def __setattr__(self, name: str, value: object) -> None:
        SURROUNDINGS.note(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        SURROUNDINGS.note(self, name, _NONE)
        super().__delattr__(name)


class ProcessSurroundings:
    """Notices what tests set. `take` gives what is other than last time."""

    def __init__(self) -> None:
        self.has_moved = False
        self._is_watching = self._is_seeded = self._has_context = False
        self._put: dict[tuple[str, str], object] = {}
        self._originals: dict[tuple[str, str], object] = {}
        self._filters: list[Any] = []
        self._arguments: list[str] = []
        self._variables: dict[bytes, bytes] = {}
        self._recursion = self._modules = 0
        self._told: dict[str, object] = {}

    def watch(self) -> None:
        """From now on."""
        random.seed = self._noting(random.seed, self._seeded)
        random.setstate = self._noting(random.setstate, self._seeded)
        for name in OWN_NAMES["decimal"]:
            setattr(decimal, name, self._noting(getattr(decimal, name), self._calculates))
        os.chdir = self._noting(os.chdir, self._moved)
        for name in PATCHING:
            if name in sys.modules:
                vars(sys.modules[name]).update(setattr=self._set, delattr=self._delete)
        self._is_watching = True
        self._mark()
        self._told = self._plain()

    def take(self) -> dict[str, object] | None:
        """What has to be told, by name, or None."""
        if not self._is_watching or not self._may_differ():
            return None
        self._mark()
        found = self._plain()
        told = {name: value for name, value in found.items() if value != self._told.get(name)}
        self._told = found
        if self._put:
            told["names"] = tuple(self._replacement(key, value) for key, value in self._put.items())
            self._put = {}
        return told or None

    def note(self, owner: Any, name: str, value: object) -> None:
        """Something is put in place of a name of the library, put back, or taken away."""
        in_module = isinstance(owner, types.ModuleType)
        module, dotted = (owner.__name__, name) if in_module else (owner.__module__, f"{owner.__qualname__}.{name}")
        is_own = name in OWN_NAMES.get(module, ()) or (in_module and name.startswith("__"))
        if is_own or (value is not _NONE and sys.modules.get(f"{module}.{name}") is value):
            return
        key = (module, dotted)
        self._originals.setdefault(key, vars(owner).get(name, _NONE))
        self._put[key] = value

    def _replacement(self, key: tuple[str, str], value: object) -> tuple[object, ...]:
        """Module, dotted name, and what is there now; without that, what was there first."""
        return key if value is self._originals[key] else (*key, None if value is _NONE else value, value is not _NONE)

    def _may_differ(self) -> bool:
        return bool(
            self._put
            or self._is_seeded
            or self._has_context
            or warnings.filters != self._filters
            or sys.argv != self._arguments
            or _variables() != self._variables
            or sys.getrecursionlimit() != self._recursion
            or len(sys.modules) != self._modules
        )

    def _mark(self) -> None:
        if len(sys.modules) != self._modules:
            for name, module in list(sys.modules.items()):
                if type(module) is types.ModuleType and _is_watched(name):
                    module.__class__ = Watched
        self._filters, self._arguments = list(warnings.filters), list(sys.argv)
        self._variables = _variables().copy()
        self._recursion, self._modules = sys.getrecursionlimit(), len(sys.modules)

    def _plain(self) -> dict[str, object]:
        """What is told as it is."""
        return {
            "arguments": tuple(sys.argv),
            "variables": tuple(item for item in os.environ.items() if not item[0].startswith("PYTEST")),
            "recursion": sys.getrecursionlimit(),
            "errors": tuple(map(_filter, (each for each in warnings.filters if each[0] == "error"))),
            "context": _context() if self._has_context else None,
            "chance": random.getstate() if self._is_seeded else None,
        }

    def _noting(self, function: Any, note: Callable[..., None]) -> Any:
        def noting(*arguments: Any, **keywords: Any) -> Any:
            answer = function(*arguments, **keywords)
            note(*arguments)
            return answer

        noting.__name__ = noting.__qualname__ = function.__name__
        return noting

    def _seeded(self, seed: object = None, *_: object) -> None:
        self._is_seeded = seed is not None
        self._told.pop("chance", None)  # told again, even if it is where it was: the other side has drawn since

    def _calculates(self, *_: object) -> None:
        self._has_context = True

    def _moved(self, *_: object) -> None:
        self.has_moved = True

    def _set(self, owner: Any, name: str, value: object) -> None:
        self._note_class(owner, name, value)
        setattr(owner, name, value)

    def _delete(self, owner: Any, name: str) -> None:
        self._note_class(owner, name, _NONE)
        delattr(owner, name)

    def _note_class(self, owner: Any, name: str, value: object) -> None:
        """Of classes of the library, and of modules that were imported just now."""
        is_module = type(owner) is types.ModuleType and _is_watched(owner.__name__)
        if is_module or (isinstance(owner, type) and is_library(owner)):
            self.note(owner, name, value)


def _is_watched(name: str) -> bool:
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names and top not in UNWATCHED


def _variables() -> dict[bytes, bytes]:
    raw: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]  # noqa: SLF001 - decoding it is slow
    return raw


def _filter(entry: Any) -> tuple[object, ...]:
    _, message, category, module, _ = entry
    known = known_exception(category)
    return message and message.pattern, tuple(known or ()), module and module.pattern


def _context() -> tuple[object, ...]:
    now: Any = _getcontext()
    traps = tuple(kind.__name__ for kind, is_on in now.traps.items() if is_on)
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, traps


_getcontext: Final = decimal.getcontext
SURROUNDINGS: Final = ProcessSurroundings()
