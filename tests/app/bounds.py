"""The bounds that a form of settings states beside its numbers."""

from typing import get_type_hints

from earnest.foundation.bounds import Whole


def bounds_of(form: type) -> dict[str, tuple[int, int]]:
    """Of each bounded number, by name: the least and the greatest value."""
    kinds = get_type_hints(form, include_extras=True)
    marks = {name: getattr(kind, "__metadata__", (None,))[0] for name, kind in kinds.items()}
    return {name: (mark.low, mark.high) for name, mark in marks.items() if isinstance(mark, Whole)}
