"""Slugs: the only form in which a name from outside becomes a tag, a key part or a label."""

import re
from typing import Final

SLUG_LENGTH_MAX: Final = 64
_SLUG: Final = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)


def is_slug(text: str) -> bool:
    """True for 1 to 64 of `a-z`, `0-9` and `_`."""
    return _SLUG.fullmatch(text) is not None
