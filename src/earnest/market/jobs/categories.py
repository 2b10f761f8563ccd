"""Kinds of work with a name of their own. Jobs may be of others; test jobs exist for some of these."""

import re
from typing import Final

CATEGORIES: Final = {
    "code-generation": "programs, written or read",
    "code-review": "what is wrong with somebody's change",
    "data-analysis": "figures, and what follows from them",
    "data-extraction": "facts out of documents",
    "data-transformation": "data brought into another form",
    "design": "how something looks and works",
    "planning": "who does what until when",
    "research": "what is known about something, with sources",
    "text-processing": "text made uniform, sorted, searched",
    "translation": "text in another language",
    "writing": "text that people read",
}
_SLUG: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
CHARACTERS_MAX: Final = 64


def is_category(text: str) -> bool:
    """True for a slug with hyphens: `code-generation`, or a word of one's own."""
    return len(text) <= CHARACTERS_MAX and _SLUG.fullmatch(text) is not None
