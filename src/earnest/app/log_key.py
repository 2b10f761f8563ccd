"""The key that the log signs checkpoints and receipts with: one line in `secrets/log`, and its public half as a fact.

The facts name every key that ever signed, so an older receipt can still be checked after another key was taken.
"""

import contextlib
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.secrets_file import put_secret, read_secret
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.journal.notary import Notary
from earnest.journal.signing import LOG, PrivateKey, check_name, need_library, read_private_key, read_public_key

MADE: Final = "log_key.made"
SUBJECT: Final = "log"


def open_log_key(home: Path, database: Database, clock: Clock, chance: Chance) -> Notary:
    """Who signs with the key, made when it is first needed. Raises `Refused`: `signing_missing`, `log_key_damaged`."""
    need_library()
    path = places.log_key(home)
    if not database.read_sync(_known):
        if not path.exists() and not path.is_symlink():
            return new_log_key(home, database, clock, chance)
        _take(database, clock, _key_in(path))
    return database.read_sync(lambda reader: read_log_key(home, reader))


def read_log_key(home: Path, reader: BooksReader) -> Notary:
    """Who signs with the key, if it is the one that the facts name last.

    Raises `Refused`: `signing_missing`, `log_key_missing` where none was made yet, `log_key_damaged`.
    """
    need_library()
    path, coming, known = places.log_key(home), _coming(home), _known(reader)
    if not known:
        raise Refused("log_key_missing", f"there is no {path} yet: `earnest receipt key` makes it")
    with contextlib.suppress(Refused, FileNotFoundError):
        if coming.exists() and str(_key_in(coming).public) == known[-1]:
            coming.replace(path)
    if not path.exists():
        raise _damaged(f"{path} is missing")
    key = _key_in(path)
    if str(key.public) != known[-1]:
        raise _damaged(f"{path} holds another key than the one that the log took last")
    return Notary(key=key, former=tuple(map(read_public_key, known[:-1])))


def new_log_key(home: Path, database: Database, clock: Clock, chance: Chance, origin: str = "") -> Notary:
    """Take another key from now on. By default the log's origin stays, and is made up for the first key.

    It lies beside the one before until a fact names it: whatever comes between, one of them signs. Raises `Refused`:
    `signing_missing`, `key_name`.
    """
    need_library()
    known, seed = database.read_sync(_known), chance.secret()
    key = PrivateKey(name="log", type=LOG, seed=seed)
    if not origin:
        made_up = f"earnest-{hashlib.sha256(key.public.public).hexdigest()[:16]}"
        origin = read_public_key(known[-1]).name if known else made_up
    check_name(origin)
    key = replace(key, name=origin)
    with contextlib.suppress(Refused):
        database.read_sync(lambda reader: read_log_key(home, reader))  # what an earlier taking left is in its place
    put_secret(_coming(home), key.secret_text())
    _take(database, clock, key)
    return database.read_sync(lambda reader: read_log_key(home, reader))


def _take(database: Database, clock: Clock, key: PrivateKey) -> None:
    made = Fact(kind=MADE, subject=SUBJECT, at_ms=clock.now_ms(), body={"key": str(key.public)})
    database.write_sync(lambda transaction: transaction.record(made))


def _coming(home: Path) -> Path:
    """Where a key lies before a fact names it."""
    return places.log_key(home).with_suffix(".new")


def _key_in(path: Path) -> PrivateKey:
    """Raises `Refused("log_key_damaged")`."""
    try:
        return read_private_key(read_secret(path, _damaged).decode("ascii", "replace").strip())
    except Refused as refused:
        raise refused if refused.code == "log_key_damaged" else _damaged(f"{path}: {refused}") from None


def _known(reader: BooksReader) -> tuple[str, ...]:
    return tuple(str(fact.body["key"]) for fact in reader.facts(kind=MADE))


def _damaged(why: str) -> Refused:
    cure = "put it back from a backup, or take another key: earnest receipt key --new"
    return Refused("log_key_damaged", f"{why}: {cure}")
