"""What the submission finds around it: its streams, and what tests set for their whole process. (Its own side.)"""

import decimal
import importlib
import io
import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Final, TextIO

from earnest.verification.unit_tests.library import exception_named

NOTHING: Final = object()
KEPT_BYTES_MAX: Final = 1 << 20  # of one call; what is more goes to the sandbox's own output too, and its limit


class Surrounded:
    """Sets what `surroundings` told, and knows what was there before."""

    def __init__(self) -> None:
        self._originals: dict[tuple[str, str], object] = {}

    def apply(self, told: dict[str, Any]) -> None:
        """By name."""
        for name, value in told.items():
            getattr(self, f"_set_{name}")(value)

    def _set_arguments(self, arguments: tuple[str, ...]) -> None:
        sys.argv[:] = arguments

    def _set_variables(self, variables: tuple[tuple[str, str], ...]) -> None:
        os.environ.clear()
        os.environ.update(variables)
        time.tzset()

    def _set_recursion(self, limit: int) -> None:
        sys.setrecursionlimit(limit)

    def _set_errors(self, filters: tuple[Any, ...]) -> None:
        """Warnings that a test takes for errors are errors where they are given; all others are told."""
        warnings.resetwarnings()
        warnings.simplefilter("always")
        for message, category, module in reversed(filters):
            if category:
                kind: Any = exception_named(*category)
                warnings.filterwarnings("error", message or "", kind, module or "")

    def _set_context(self, context: tuple[Any, ...] | None) -> None:
        if context is not None:
            *parts, traps = context
            names = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
            kinds = [getattr(decimal, name) for name in traps]
            decimal.setcontext(decimal.Context(**dict(zip(names, parts, strict=True)), traps=kinds))

    def _set_chance(self, state: Any) -> None:
        random.seed() if state is None else random.setstate(state)

    def _set_names(self, names: tuple[tuple[Any, ...], ...]) -> None:
        for module, dotted, *now in names:
            owner: Any = importlib.import_module(module)
            *above, name = dotted.split(".")
            for each in above:
                owner = getattr(owner, each)
            first = self._originals.setdefault((module, dotted), vars(owner).get(name, NOTHING))
            value = (now[0] if now[1] else NOTHING) if now else first
            if value is not NOTHING:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)


class Output(io.TextIOWrapper):
    """What stands in for stdout or stderr: kept for the answer, and beyond a bound given to the real stream."""

    def __init__(self, real: TextIO) -> None:
        self._kept = io.BytesIO()
        self._real = real
        super().__init__(self._kept, encoding="utf-8", errors="backslashreplace", write_through=True)

    def drain(self) -> str:
        """What was written since last time."""
        if not self._kept.tell():  # nothing waits above it: see write_through
            return ""
        self.flush()
        data = self._kept.getvalue()
        self._kept.seek(0)
        self._kept.truncate()
        if len(data) > KEPT_BYTES_MAX:
            self._real.buffer.write(data)
            self._real.flush()
        return data[:KEPT_BYTES_MAX].decode("utf-8", "replace")


class Input(io.TextIOBase):
    """What stands in for stdin: the test's, if it put one there. `ask` is given `read` or `readline`."""

    def __init__(self, ask: Callable[[str], Any]) -> None:
        self._ask = ask

    def readable(self) -> bool:
        """It is."""
        return True

    def readline(self, _size: int = -1) -> str:  # type: ignore[override]
        """A line with its end, or nothing."""
        return str(self._ask("readline"))

    def read(self, _size: int | None = -1) -> str:
        """All that is left."""
        return str(self._ask("read"))
