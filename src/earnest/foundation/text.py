"""Cutting text so that its beginning and its end both stay visible."""

EXCERPT_CHARACTERS_MAX = 4_000


def head_tail(text: str, limit: int = EXCERPT_CHARACTERS_MAX) -> str:
    """The first third and the last two thirds of `limit` characters, with the number left out between them.

    Results stand at the end of most outputs, hence the larger tail. Text within the limit is returned as it is.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"


def printable(text: str) -> str:
    """One line that cannot steer a terminal: line breaks and control characters become visible."""
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)
