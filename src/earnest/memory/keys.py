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
EXPIRIES: Final = b"e|"
LEVELS: Final = b"l|"
STIRRED: Final = b"p|"
APPLIED_SEQ: Final = b"w|applied_seq"
FORMAT: Final = b"v|format"


def record(megram_id: str) -> bytes:
    """The Megram itself (seed: `m|<id>`)."""
    return RECORDS + segment(megram_id)


def recall(megram_id: str) -> bytes:
    """When it was last recalled (seed: `r|<id>`)."""
    return b"r|" + segment(megram_id)


def tagged(space: str, entity: str, megram_id: str) -> bytes:
    """Megrams by tag (seed: `x|<space>|<entity>|<id>`)."""
    return tagged_pair(space, entity) + segment(megram_id)


def tagged_pair(space: str, entity: str) -> bytes:
    """What all keys of one pair in the index of tags begin with."""
    return tagged_space(space) + segment(entity) + b"|"


def tagged_space(space: str) -> bytes:
    """What all keys of one space in the index of tags begin with."""
    return b"x|" + segment(space) + b"|"


def levelled(level: str, megram_id: str) -> bytes:
    """Megrams by level (seed: `l|<level>|<id>`)."""
    return levelled_all(level) + segment(megram_id)


def levelled_all(level: str) -> bytes:
    """What all keys of one level begin with."""
    return LEVELS + segment(level) + b"|"


def count(level: str) -> bytes:
    """How many Megrams a level has."""
    return b"n|" + segment(level)


def created(space: str, entity: str, at_ms: int, megram_id: str) -> bytes:
    """Megrams of a pair in order of creation."""
    return created_from(space, entity, at_ms) + b"|" + segment(megram_id)


def created_from(space: str, entity: str, at_ms: int) -> bytes:
    """The place of an instant among the keys of `created_pair`."""
    return created_pair(space, entity) + instant(at_ms)


def created_pair(space: str, entity: str) -> bytes:
    """What all keys of `created` of one pair begin with."""
    return b"t|" + _pair(space, entity)


def renewed(space: str, entity: str, at_ms: int, megram_id: str) -> bytes:
    """Recalled Megrams of a pair in order of their last recall."""
    return renewed_from(space, entity, at_ms) + b"|" + segment(megram_id)


def renewed_from(space: str, entity: str, at_ms: int) -> bytes:
    """The place of an instant among the keys of `renewed_pair`."""
    return renewed_pair(space, entity) + instant(at_ms)


def renewed_pair(space: str, entity: str) -> bytes:
    """What all keys of `renewed` of one pair begin with."""
    return b"u|" + _pair(space, entity)


def rule(space: str, entity: str, at_ms: int, megram_id: str) -> bytes:
    """Rules (level C) of a pair in order of creation."""
    return rules_of_pair(space, entity) + instant(at_ms) + b"|" + segment(megram_id)


def rules_of_pair(space: str, entity: str) -> bytes:
    """What all keys of `rule` of one pair begin with."""
    return b"c|" + _pair(space, entity)


def used(tool: str, at_ms: int, megram_id: str) -> bytes:
    """Megrams about a tool in order of creation, whatever the tool was used on."""
    return used_all(tool) + instant(at_ms) + b"|" + segment(megram_id)


def used_all(tool: str) -> bytes:
    """What all keys of `used` of one tool begin with."""
    return b"y|" + segment(tool) + b"|"


def stirred(space: str, entity: str) -> bytes:
    """A pair to which something was added since the dreamer last looked at it."""
    return STIRRED + _pair(space, entity)


def decay_sum(space: str, entity: str, level: str, k: float) -> bytes:
    """The running sum of one level and decay class of a pair."""
    return decay_sums(space, entity) + segment(level) + b"|" + repr(k + 0.0).encode()  # neither 0 nor -0.0


def decay_sums(space: str, entity: str) -> bytes:
    """What all sums of one pair begin with."""
    return b"s|" + _pair(space, entity)


def decay_sum_class(key: bytes) -> tuple[str, float]:
    """Level and decay of a key of `decay_sum`."""
    _, level, k = key.rsplit(b"|", 2)
    return level.decode(), float(k)


def expiry(at_ms: int, megram_id: str) -> bytes:
    """Megrams in order of the instant at which they fall below their limit."""
    return EXPIRIES + instant(at_ms) + b"|" + segment(megram_id)


def expiry_instant_ms(key: bytes) -> int:
    """The instant of a key of `expiry`."""
    return int(key[len(EXPIRIES) : len(EXPIRIES) + _INSTANT_DIGITS])


def segment(text: str) -> bytes:
    """One part of a key, free of `|`. Different texts give different segments (but for a collision of SHA-256)."""
    plain = text.encode()
    escaped = plain.replace(b"%", b"%25").replace(b"|", b"%7C")
    if len(escaped) <= SEGMENT_BYTES_MAX:
        return escaped
    return b"%#" + hashlib.sha256(plain).hexdigest().encode()


def instant(at_ms: int) -> bytes:
    """Fixed width, so that the order of bytes is that of time. Instants before 1970 are 1970."""
    return b"%0*d" % (_INSTANT_DIGITS, max(0, at_ms))


def _pair(space: str, entity: str) -> bytes:
    return segment(space) + b"|" + segment(entity) + b"|"
