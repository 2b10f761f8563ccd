"""The kinds of checks. Each is loaded by name when first asked for, built-in kinds like anybody's."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from earnest.foundation.errors import Refused
from earnest.verification.plugin import Check

GROUP: Final = "earnest.checks"
ALIASES: Final = {"judge": "llm_judge", "judgment": "llm_judge"}
"""Other names of kinds, from the tags of the seed behavior-and-purpose."""


class Registry:
    """Checks by kind. `extra` adds checks without an installed package."""

    def __init__(self, extra: Mapping[str, Check] | None = None) -> None:
        self._loaded: dict[str, Check] = dict(extra or {})

    def kinds(self) -> list[str]:
        """Every known kind, in order."""
        return sorted({*self._loaded, *_found()})

    def check(self, kind: str) -> Check:
        """The check of a kind.

        Raises `Refused`: `unknown_check` (the message lists the kinds), `duplicate_check` if two packages offer it,
        `bad_check` if it cannot be loaded or is not what its name says.
        """
        if kind not in self._loaded and kind not in _found():
            kind = ALIASES.get(kind, kind)
        if kind not in self._loaded:
            self._loaded[kind] = self._load(kind)
        return self._loaded[kind]

    def _load(self, kind: str) -> Check:
        points = _found().get(kind, [])
        if not points:
            raise Refused("unknown_check", f"unknown check kind {kind!r}; known kinds: {', '.join(self.kinds())}")
        if len(points) > 1:
            offers = ", ".join(sorted(point.value for point in points))
            raise Refused("duplicate_check", f"the check kind {kind!r} is offered more than once: {offers}")
        try:
            check: Check = points[0].load()
        except Exception as error:
            raise Refused("bad_check", f"the check kind {kind!r} cannot be loaded: {error}") from error
        if getattr(check, "kind", None) != kind or not hasattr(check, "run"):
            raise Refused("bad_check", f"{points[0].value} is no check of the kind {kind!r}")
        return check


def _found() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in _offered():
        same = found.setdefault(point.name, [])
        if all(point.value != other.value for other in same):  # one package may be on the path twice
            same.append(point)
    return found


@cache
def _offered() -> Iterable[EntryPoint]:
    """What the installed packages offer; asked once, for it takes a file of every package."""
    return entry_points(group=GROUP)
