"""What tests set for their whole process, set for the submission's too. (The submission's side.)"""

import decimal
import importlib
import os
import random
import sys
import time
import warnings
from typing import Any, Final

from earnest.verification.unit_tests.library import exception_named

NOTHING: Final = object()


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
