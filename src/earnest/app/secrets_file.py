"""The platform's own secret, checked to be the one by which the kept keys were hashed.

One line in `secrets/keys` of the data directory, readable by its owner only. Its fingerprint is a fact: with another
secret nobody's key would be known, so a secret that is missing, altered or exchanged stops the start.
"""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.durable import put_file
from earnest.effects.ground.faults import why
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.identity.key import KeyedHash
from earnest.identity.service import KEYS

FORMAT: Final = "earnest-keys-1"
BYTES_MAX: Final = 1_024
MADE: Final = "key_store.made"


def open_key_store(home: Path, database: Database, clock: Clock, chance: Chance) -> KeyedHash:
    """The secret; made at the first start. Raises `Refused("key_store_damaged")`."""
    path = places.key_store(home)
    known, has_keys = database.read_sync(
        lambda reader: (_known_fingerprint(reader), any(KEYS.where(reader, "1 = 1 LIMIT 1")))
    )
    if not path.exists() and not path.is_symlink():
        if known or has_keys:
            raise _damaged(f"{path} is missing, and the books hold keys that it made: put it back from a backup")
        secret = chance.secret()
        put_secret(path, f"{FORMAT} {secret.hex()} {_checksum(secret)}")
    if known is None:
        fingerprint = _fingerprint(read_key_store(home))
        made = Fact(kind=MADE, subject="keys", at_ms=clock.now_ms(), body={"fingerprint": fingerprint})
        database.write_sync(lambda transaction: transaction.record(made))
    return database.read_sync(lambda reader: check_key_store(home, reader))


def check_key_store(home: Path, reader: BooksReader) -> KeyedHash:
    """The secret, if it is the one by which the keys in the books were made. Raises as `open_key_store` does."""
    path, known = places.key_store(home), _known_fingerprint(reader)
    if known and not path.exists():
        raise _damaged(f"{path} is missing, and the books hold keys that it made: put it back from a backup")
    hashing = read_key_store(home)
    if known != _fingerprint(hashing):
        raise _damaged(f"{path} holds another secret than the one by which the keys in the books were made")
    return hashing


def read_key_store(home: Path) -> KeyedHash:
    """The secret, beside whoever uses the books. Raises `Refused`: `key_store_missing`, `key_store_damaged`."""
    path = places.key_store(home)
    if not path.exists() and not path.is_symlink():
        raise Refused("key_store_missing", f"there is no {path} yet: `earnest serve` makes it")
    return KeyedHash(_secret(path, read_secret(path, _damaged)))


def read_secret(path: Path, damaged: Callable[[str], Refused]) -> bytes:
    """What a file holds that nobody but its owner may read, 1,024 bytes at most. Raises what `damaged` makes of why."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise damaged(f"{path} cannot be read: {why(error)}") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise damaged(f"{path} must be a file of yours that nobody else may read: chmod 600")
        return os.read(descriptor, BYTES_MAX)
    finally:
        os.close(descriptor)


def put_secret(path: Path, line: str) -> None:
    """Keep one line where nobody else reads it, whole or not at all, and durably. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    put_file(path, f"{line}\n".encode())


def _fingerprint(hashing: KeyedHash) -> str:
    return hashing.digest("fingerprint", FORMAT)


def _secret(path: Path, data: bytes) -> bytes:
    """`earnest-keys-1 SECRET CHECKSUM`, both in hexadecimal."""
    words = data.decode("ascii", "replace").split()
    try:
        secret = bytes.fromhex(words[1])
        if words[0] == FORMAT and len(words) == 3 and len(secret) == 32 and words[2] == _checksum(secret):
            return secret
    except (IndexError, ValueError):
        pass
    raise _damaged(f"{path} is damaged: put it back from a backup")


def _checksum(secret: bytes) -> str:
    return hashlib.sha256(FORMAT.encode() + secret).hexdigest()[:16]


def _known_fingerprint(reader: BooksReader) -> str | None:
    newest = next(reader.facts(kind=MADE, limit=1, newest_first=True), None)
    return None if newest is None else str(newest.body["fingerprint"])


def _damaged(message: str) -> Refused:
    return Refused("key_store_damaged", message)
