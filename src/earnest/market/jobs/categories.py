"""Kinds of work with a name of their own. Jobs may be of others; test jobs exist for some of these."""

import difflib
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
SLIP: Final = 0.8
"""So alike, of 1, are a name and what somebody mistyped for it."""


def category_fault(text: str) -> str:
    """What is wrong with a category; empty for a known one or a word of one's own. One letter off is a slip."""
    if len(text) > CHARACTERS_MAX or _SLUG.fullmatch(text) is None:
        return "must be a slug with hyphens, such as code-generation"
    near = () if text in CATEGORIES else difflib.get_close_matches(text, CATEGORIES, n=1, cutoff=SLIP)
    return f"is unknown as {text!r}: did you mean {near[0]!r}?" if near else ""
