"""Ed25519 keys in the forms of signed notes: one line that verifies, one line that signs (C2SP signed-note)."""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from earnest.foundation.errors import Refused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LOG: Final = 1
"""The type of a key that signs notes as they are."""
WITNESS: Final = 4
"""The type of a key that cosigns checkpoints at an instant (C2SP tlog-cosignature)."""
SEED_BYTES: Final = 32
NAME_CHARACTERS_MAX: Final = 255
_SIGNS: Final = "PRIVATE+KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """What verifies. `name` is the origin of a log or the name of a witness; `public` the 32 bytes of RFC 8032."""

    name: str
    type: int
    public: bytes

    @property
    def id(self) -> bytes:
        """The four bytes by which a signature line names the key."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public).digest()[:4]

    @property
    def label(self) -> str:
        """Name and id: the `keyid` of envelopes."""
        return f"{self.name}+{self.id.hex()}"

    def __str__(self) -> str:
        """The verifier key as it is published: `name+id+base64`."""
        return f"{self.label}+{base64.b64encode(bytes([self.type]) + self.public).decode()}"

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """True if this key's owner signed `message`."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - see `need_library`
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKey:
    """What signs. `seed` is the 32 secret bytes of RFC 8032."""

    name: str
    type: int
    seed: bytes = field(repr=False)

    @property
    def public(self) -> PublicKey:
        """The key that verifies what this one signs."""
        return PublicKey(name=self.name, type=self.type, public=_signer(self.seed).public_key().public_bytes_raw())

    def secret_text(self) -> str:
        """The line that a key file holds: `PRIVATE+KEY+name+id+base64`."""
        key = base64.b64encode(bytes([self.type]) + self.seed).decode()
        return f"{_SIGNS}+{self.public.label}+{key}"

    def sign(self, message: bytes) -> bytes:
        """64 bytes; the same for the same message."""
        return _signer(self.seed).sign(message)


def need_library() -> None:
    """Raises `Refused("signing_missing")` where the library of Ed25519 is not installed: it is no part of the base."""
    try:
        import cryptography  # noqa: F401, PLC0415
    except ImportError:
        raise Refused("signing_missing", "receipts need a library: pip install 'earnest[receipts]'") from None


def read_public_key(text: str) -> PublicKey:
    """A verifier key. Raises `Refused("key_unreadable")`."""
    name, identity, data = _parts(text)
    key = PublicKey(name=name, type=data[0], public=data[1:])
    if key.id.hex() != identity:
        raise _unreadable("its id is not that of its name and bytes")
    return key


def read_private_key(text: str) -> PrivateKey:
    """A signing key. Raises `Refused("key_unreadable")`."""
    if not text.startswith(f"{_SIGNS}+"):
        raise _unreadable(f"a key that signs begins with {_SIGNS}+")
    name, identity, data = _parts(text.removeprefix(f"{_SIGNS}+"))
    key = PrivateKey(name=name, type=data[0], seed=data[1:])
    if key.public.id.hex() != identity:
        raise _unreadable("its id is not that of its name and bytes")
    return key


def check_name(name: str) -> None:
    """Raises `Refused("key_name")` for what cannot name a key: empty, with a space, a plus or an invisible sign."""
    if not 0 < len(name) <= NAME_CHARACTERS_MAX or "+" in name or not name.isprintable() or len(name.split()) != 1:
        raise Refused("key_name", f"{name[:80]!r} cannot name a key: no spaces, no plus, 1 to {NAME_CHARACTERS_MAX}")


def strict_base64(text: str) -> bytes:
    """Bytes of standard base64. Raises `ValueError` for any other spelling of the same bytes."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is no base64") from None
    if base64.b64encode(data).decode() != text:
        raise ValueError("it is not the one base64 form of its bytes")
    return data


@lru_cache(maxsize=8)
def _signer(seed: bytes) -> "Ed25519PrivateKey":
    """Made once: that takes as long as signing."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    return Ed25519PrivateKey.from_private_bytes(seed)


def _parts(text: str) -> tuple[str, str, bytes]:
    try:
        name, identity, key = text.split("+", 2)
        data = strict_base64(key)
    except ValueError:
        raise _unreadable("it is not name+id+base64") from None
    check_name(name)
    if len(data) != 1 + SEED_BYTES or data[0] not in {LOG, WITNESS}:
        raise _unreadable("it is no key of Ed25519, of a log (type 1) or a witness (type 4)")
    return name, identity, data


def _unreadable(why: str) -> Refused:
    return Refused("key_unreadable", f"the key cannot be read: {why}")
