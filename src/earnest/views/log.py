"""Proof that the platform dropped and altered nothing: a checkpoint, and a place under it (RFC 9162)."""

from typing import Final

from earnest.client.payloads_platform import Checkpoint, Proof
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.journal.heads import SEALED, seal_in
from earnest.journal.merkle import inclusion_proof

LEAVES_MAX: Final = 2_000_000
"""A proof reads every leaf under its checkpoint; longer logs are proved by `earnest journal` on the machine."""


def newest_checkpoint(reader: BooksReader) -> Checkpoint:
    """The newest sealed head: so many facts have this Merkle root (SHA-256, hexadecimal). Size 0: nothing is sealed."""
    last = next(reader.facts(kind=SEALED, newest_first=True, limit=1), None)
    if last is None:
        return {"size": 0, "root": "", "sealed_at": None}
    head = seal_in(last.body).head
    return {"size": head.size, "root": head.root.hex(), "sealed_at": rfc3339_s(last.at_ms)}


def proof_of(reader: BooksReader, seq: int) -> Proof:
    """The leaf of fact `seq` and its path to the newest checkpoint. It shows hashes alone, never what the fact says.

    Raises `Refused`: `not_found` for a fact that is not under the checkpoint, `maintenance` for a log that is too long.
    """
    checkpoint = newest_checkpoint(reader)
    size = checkpoint["size"]
    if not 1 <= seq <= size:
        raise Refused("not_found", f"the newest checkpoint has {size} facts")
    if size > LEAVES_MAX:
        raise Refused("maintenance", f"proofs are given here for logs of at most {LEAVES_MAX} facts")
    leaves = [leaf for leaf, _ in zip(reader.leaves(), range(size), strict=False)]
    path = inclusion_proof(seq - 1, leaves)
    return {
        "seq": seq,
        "leaf": leaves[seq - 1].hex(),
        "checkpoint": checkpoint,
        "path": [node.hex() for node in path],
    }
