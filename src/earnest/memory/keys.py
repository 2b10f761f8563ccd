"""Under which key each thing stands. Two different things never share one, whatever characters they hold.

A segment is UTF-8 with `%` and `|` escaped, so that `|` only ever separates; one above SEGMENT_BYTES_MAX is replaced
by its SHA-256, marked `%#`, which no escape begins with. As keys cannot always be read back, index rows carry the id.
"""

import hashlib
from typing import Final

SEGMENT_BYTES_MAX: Final = 120
"""Three segments, an instant and the separators stay below the 511 bytes of a key."""

_INSTANT_DIGITS: Final = 15

RECORDS: Final = b"m|"
"""`<id>`: the Megram itself."""
RECALLS: Final = b"r|"
"""`<id>`: when it was last recalled."""
TAGGED: Final = b"x|"
"""`<space>|<entity>|<id>`: Megrams by tag."""
LEVELLED: Final = b"l|"
"""`<level>|<id>`: Megrams by level."""
COUNTS: Final = b"n|"
"""`<level>`: how many Megrams it has."""
CREATED: Final = b"t|"
"""`<space>|<entity>|<instant>|<id>`: events and knowledge of a pair in order of creation."""
RENEWED: Final = b"u|"
"""`<space>|<entity>|<instant>|<id>`: those that were recalled, in order of their last recall."""
RULES: Final = b"c|"
"""`<space>|<entity>|<instant>|<id>`: rules (level C) of a pair in order of creation."""
USED: Final = b"y|"
"""`<tool>|<instant>|<id>`: Megrams about a tool in order of creation, whatever the tool was used on."""
STIRRED: Final = b"p|"
"""`<space>|<entity>|`: a pair to which something was added since the dreamer last looked at it."""
SUMS: Final = b"s|"
"""`<space>|<entity>|<level>|<k>`: the running sum of one level and decay class of a pair."""
EXPIRIES: Final = b"e|"
"""`<instant>|<id>`: Megrams in order of the instant at which they fall below their limit."""
APPLIED_SEQ: Final = b"w|applied_seq"
FORMAT: Final = b"v|format"


def of(index: bytes, *parts: str | int) -> bytes:
    """The key of these texts and instants in an index."""
    return index + b"|".join(map(_part, parts))


def below(index: bytes, *parts: str | int) -> bytes:
    """What all keys of an index begin with whose first parts are these."""
    return index + b"".join(_part(part) + b"|" for part in parts)


def decay_sum(space: str, entity: str, level: str, k: float) -> bytes:
    """The key of the sum of one level and decay class."""
    return of(SUMS, space, entity, level, repr(k + 0.0))  # neither 0 nor -0.0


def decay_sum_class(key: bytes) -> tuple[str, float]:
    """Level and decay of a key in `SUMS`."""
    _, level, k = key.rsplit(b"|", 2)
    return level.decode(), float(k)


def expiry_instant_ms(key: bytes) -> int:
    """The instant of a key in `EXPIRIES`."""
    return int(key[len(EXPIRIES) : len(EXPIRIES) + _INSTANT_DIGITS])


def segment(text: str) -> bytes:
    """One part of a key, free of `|`. Different texts give different segments (but for a collision of SHA-256)."""
    plain = text.encode()
    escaped = plain.replace(b"%", b"%25").replace(b"|", b"%7C")
    if len(escaped) <= SEGMENT_BYTES_MAX:
        return escaped
    return b"%#" + hashlib.sha256(plain).hexdigest().encode()


def _part(part: str | int) -> bytes:
    """Instants have a fixed width, so that the order of bytes is that of time; those before 1970 are 1970."""
    return segment(part) if isinstance(part, str) else b"%0*d" % (_INSTANT_DIGITS, max(0, part))
