"""Secrets that somebody else holds: what is kept of one, how two are compared, and how a new one is written."""

import hmac
from dataclasses import dataclass, field
from typing import Final

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE62_CHARACTERS: Final = 43
"""What 256 bits take."""


@dataclass(frozen=True, slots=True)
class KeyedHash:
    """The platform's own secret, 32 bytes, without which no kept digest says anything (HMAC-SHA-256)."""

    secret: bytes = field(repr=False)

    def digest(self, purpose: str, text: str) -> str:
        """64 hexadecimal digits; different for each purpose."""
        return hmac.digest(self.secret, f"{purpose}\n{text}".encode(errors="surrogatepass"), "sha256").hex()


def same(one: str, other: str) -> bool:
    """Compare two digests in a time that does not depend on where they differ."""
    return hmac.compare_digest(one, other)


def base62(entropy: bytes) -> str:
    """32 bytes as 43 letters and digits."""
    number, digits = int.from_bytes(entropy, "big"), ""
    for _ in range(BASE62_CHARACTERS):
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
    return digits
