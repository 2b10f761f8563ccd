"""Text cut so that its beginning and its end both stay visible, and words of libraries said plainly."""

import re
from collections.abc import Sequence
from typing import Final

EXCERPT_CHARACTERS_MAX = 4_000
_OF_PYDANTIC: Final = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Field required$"), "is missing"),
    (
        re.compile(r"^Extra inputs are not permitted$"),
        "is no member of this object: remove it, or look at its spelling",
    ),
    (re.compile(r", unable to parse .*"), ""),
    (re.compile(r" after validation\b"), ""),
    (re.compile(r"^\w+ should (be|have|match|end|contain)\b"), r"must \1"),
    (re.compile(r"\ba valid integer"), "a whole number"),
)


def head_tail(text: str, limit: int = EXCERPT_CHARACTERS_MAX) -> str:
    """The first third and the last two thirds of `limit` characters, with the number left out between them.

    Results stand at the end of most outputs, hence the larger tail. Text within the limit is returned as it is.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"


def listed(texts: Sequence[str], shown_max: int) -> str:
    """The first texts in one line, and how many more there are."""
    more = f"; and {len(texts) - shown_max} more" if len(texts) > shown_max else ""
    return "; ".join(texts[:shown_max]) + more


def printable(text: str) -> str:
    """One line that cannot steer a terminal: line breaks and control characters become visible."""
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def plain_fault(message: str) -> str:
    """What pydantic finds wrong with a value, as we say it: what the value must be."""
    for pattern, words in _OF_PYDANTIC:
        message = pattern.sub(words, message)
    return message
