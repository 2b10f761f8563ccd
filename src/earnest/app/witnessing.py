"""A witness of other people's logs: it keeps the last checkpoint that it found in order, and cosigns what grew from it.

In the data directory: its key in `secrets/witness`, and a file for each log in `witness/`, named by the log's origin:
whatever key the log takes, it must go on from there.
"""

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.secrets_file import put_secret, read_secret
from earnest.client.client import Client
from earnest.client.problem import Problem
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.durable import put_file
from earnest.foundation.errors import Refused, Unavailable
from earnest.journal.notes import (
    Checkpoint,
    Flaw,
    checkpoint_flaws,
    cosign,
    growth_flaws,
    read_checkpoint,
    with_signatures,
)
from earnest.journal.signing import (
    WITNESS,
    PrivateKey,
    PublicKey,
    check_name,
    need_library,
    read_private_key,
)

NOTE: Final = "{}.note"
FORK: Final = "{}.fork.{}.note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """What a look at a log came to. `flaws`: it is not what was seen before, and nothing was signed.

    `note` is the checkpoint, with the witness's line if it was signed; `kept` in which file. `refused`: why the
    platform did not take the line; empty where it did, and where nobody offered it.
    """

    flaws: tuple[Flaw, ...]
    note: str
    size: int
    last_size: int
    kept: Path
    refused: str = ""


def witness_key(home: Path, chance: Chance, name: str = "") -> PrivateKey:
    """The witness's key, made if there is none. Raises `Refused`: `signing_missing`, `key_name`, `key_unreadable`."""
    need_library()
    path = places.witness_key(home)
    if path.exists() or path.is_symlink():
        key = read_private_key(read_secret(path, partial(Refused, "key_unreadable")).decode("ascii", "replace").strip())
        if name and name != key.name:
            raise Refused("key_name", f"the witness here is {key.name}")
        return key
    seed = chance.secret()
    name = name or f"witness-{hashlib.sha256(seed).hexdigest()[:16]}"
    check_name(name)
    key = PrivateKey(name=name, type=WITNESS, seed=seed)
    put_secret(path, key.secret_text())
    return key


def look(home: Path, client: Client, log: PublicKey, key: PrivateKey, clock: Clock, *, send: bool) -> Witnessed:
    """Fetch the newest checkpoint, see that the log only grew since the last look, cosign it, keep it, hand it in.

    Two checkpoints that contradict each other are both kept: they are signed, and so they convince anybody. Raises
    `Unavailable`, `Problem`, `OSError`, `Refused`.
    """
    seen = _last(home, log)
    now = _fetched(client)
    last_size = seen.head.size if seen else 0
    flaws = tuple(checkpoint_flaws(now, [log]))
    if seen and not flaws:
        flaws = tuple(growth_flaws(log, seen, now, _proof(client, seen, now)))
    if flaws:
        kept = _file(home, log, FORK.format("{}", now.head.size))
        _keep(kept, str(now))
        return Witnessed(flaws=flaws, note=str(now), size=now.head.size, last_size=last_size, kept=kept)
    note = str(with_signatures(now, [cosign(key, now, clock.now_ms() // 1_000)]))
    kept = _file(home, log, NOTE)
    _keep(kept, note)
    refused = _sent(client, note) if send else ""
    return Witnessed(flaws=(), note=note, size=now.head.size, last_size=last_size, kept=kept, refused=refused)


def _last(home: Path, log: PublicKey) -> Checkpoint | None:
    path = _file(home, log, NOTE)
    if not path.exists():
        return None
    try:
        return read_checkpoint(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Refused("checkpoint_unreadable", f"{path}: {error}") from None


def _fetched(client: Client) -> Checkpoint:
    try:
        return read_checkpoint(client.get_signed_checkpoint())
    except ValueError as error:
        raise Unavailable(f"what answered gave no checkpoint: {error}") from None


def _proof(client: Client, seen: Checkpoint, now: Checkpoint) -> tuple[bytes, ...]:
    """The log's own proof; empty where it has none, which proves nothing but that two checkpoints are one."""
    old, new = seen.head.size, now.head.size
    if old >= new:
        return ()
    try:
        return tuple(bytes.fromhex(str(node)) for node in client.get_consistency(old, to=new)["path"])
    except (Problem, KeyError, TypeError, ValueError):
        return ()


def _sent(client: Client, note: str) -> str:
    try:
        client.send_cosignatures(note)
    except Problem as problem:
        return str(problem)
    return ""


def _file(home: Path, log: PublicKey, name: str) -> Path:
    return places.witness(home) / name.format(hashlib.sha256(log.name.encode()).hexdigest()[:32])


def _keep(path: Path, note: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    put_file(path, note.encode())
