"""Objects of the submission to the tests: a number, and names that may be asked of it."""

from typing import Final

BLAND: Final = frozenset(
    {
        *("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__wrapped__", "__all__"),
        *("__version__", "__author__", "__members__", "__match_args__", "__self__", "__func__"),
    }
)
"""Names with underscores that tests ask for; no other is asked of the submission."""


class OwnedObject:
    """An object of the submission, known by its number."""

    __slots__ = ()
    __number__: int
    __overridden__: frozenset[str] = frozenset()
    """What classes of tests that were derived from this one define."""


def is_private(name: str) -> bool:
    """True for a name that is never asked of the submission."""
    return name.startswith("__") and name.endswith("__") and name not in BLAND
