"""Proof that the platform dropped and altered nothing: a checkpoint, and a place under it (RFC 9162)."""

from earnest.client.payloads_platform import Checkpoint, Consistency, Proof
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.journal.heads import Head
from earnest.journal.proving import Prover, head_at, newest_head, sealed_heads


def newest_checkpoint(reader: BooksReader) -> Checkpoint:
    """The newest sealed head: so many facts have this Merkle root (SHA-256, hexadecimal). Size 0: nothing is sealed."""
    for head, at_ms in sealed_heads(reader):
        return _shown(head, at_ms)
    return {"size": 0, "root": "", "sealed_at": None}


def proof_of(reader: BooksReader, seq: int) -> Proof:
    """The leaf of fact `seq` and its path to the newest checkpoint. It shows hashes alone, never what the fact says.

    Raises `Refused("not_found")` for a fact that is not under the checkpoint.
    """
    head, at_ms = next(sealed_heads(reader), (None, 0))
    if head is None or not 1 <= seq <= head.size:
        raise Refused("not_found", f"the newest checkpoint has {head.size if head else 0} facts")
    path = Prover(reader, head).inclusion(seq)
    leaf = next(reader.leaves(after_seq=seq - 1, limit=1))
    return {"seq": seq, "leaf": leaf.hex(), "checkpoint": _shown(head, at_ms), "path": [node.hex() for node in path]}


def consistency_of(reader: BooksReader, old: int, new: int | None) -> Consistency:
    """That the checkpoint of `new` facts, by default the newest, only added to that of `old`.

    Raises `Refused("not_found")` for a size that has no checkpoint.
    """
    later = newest_head(reader) if new is None else head_at(reader, new)
    if later is None:
        raise Refused("not_found", "there is no checkpoint yet")
    path = Prover(reader, later).consistency(head_at(reader, old))
    return {"from": old, "to": later.size, "path": [node.hex() for node in path]}


def _shown(head: Head, at_ms: int) -> Checkpoint:
    return {"size": head.size, "root": head.root.hex(), "sealed_at": rfc3339_s(at_ms)}
