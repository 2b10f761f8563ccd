"""Replies that say no more than that all is well. (ruling 2)"""

from typing import Final

TOKEN: Final = "HEARTBEAT_OK"  # noqa: S105 - a word
FURTHER_CHARACTERS_MAX: Final = 300


def is_acknowledgement(reply: str) -> bool:
    """True for `HEARTBEAT_OK` at the start or the end, with at most 300 further characters."""
    text = reply.strip()
    if not (text.startswith(TOKEN) or text.endswith(TOKEN)):
        return False
    return len(text) - len(TOKEN) <= FURTHER_CHARACTERS_MAX
