"""Checkpoints and receipts from the books, made when they are asked for: nothing of them is kept but cosignatures."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.journal.heads import SUBJECT
from earnest.journal.notes import (
    SIGNATURES_MAX,
    Checkpoint,
    Signature,
    checkpoint_flaws,
    read_checkpoint,
    read_signature,
    signed_checkpoint,
    with_signatures,
)
from earnest.journal.proving import Prover, head_at, newest_head
from earnest.journal.receipt import PLACES_MAX, Draft, Place, write_receipt
from earnest.journal.signing import PrivateKey, PublicKey

COSIGNED: Final = "journal.cosigned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notary:
    """Signs for one log, with a key that `former` ones came before. Of `witnesses` cosignatures are kept and shown."""

    key: PrivateKey
    witnesses: tuple[PublicKey, ...] = ()
    former: tuple[PublicKey, ...] = ()

    def checkpoint(self, reader: BooksReader, size: int | None = None) -> Checkpoint:
        """The newest checkpoint, or that of `size` facts, with its cosignatures.

        Raises `Refused`: `not_sealed` where nothing is sealed yet, `not_found` for a size that has no head.
        """
        head = newest_head(reader) if size is None else head_at(reader, size)
        if head is None:
            raise Refused("not_sealed", "nothing is sealed yet")
        lines = islice(_lines(reader, head.size), SIGNATURES_MAX - 1)
        return with_signatures(signed_checkpoint(self.key, head), lines)

    def receipt(self, reader: BooksReader, draft: Draft) -> bytes:
        """The receipt, under the newest checkpoint that a witness cosigned if its facts stand there, else the newest.

        Raises `Refused`: `not_sealed`, `too_large` for more facts than a receipt may name.
        """
        if len(draft.seqs) > PLACES_MAX:
            raise Refused("too_large", f"a receipt names at most {PLACES_MAX} facts, not {len(draft.seqs)}")
        checkpoint = self.checkpoint(reader, _cosigned_size(reader, max(draft.seqs)))
        prover = Prover(reader, checkpoint.head)
        return write_receipt(draft, checkpoint, (_place(reader, prover, seq) for seq in draft.seqs), self.key)

    def new_cosignatures(self, reader: BooksReader, note: str) -> tuple[Fact, ...]:
        """What a checkpoint that a witness hands in adds to what is known, as facts at instant 0.

        Raises `Refused`: `validation` for what is no checkpoint of ours, `not_found` for one of a size that has no
        head, `witness_unknown` where no witness that is known here cosigned it.
        """
        try:
            given = read_checkpoint(note)
        except ValueError as error:
            raise Refused("validation", f"it is no checkpoint: {error}") from None
        if given.text != signed_checkpoint(self.key, head_at(reader, given.head.size)).text:
            raise Refused("validation", "it is no checkpoint of this log")
        keys = [key for key in self.witnesses if any(line.is_of(key) for line in given.signatures)]
        if not keys:
            raise Refused("witness_unknown", "none of its signatures is of a witness that is known here")
        if flaws := checkpoint_flaws(given, [self.key.public], keys):
            raise Refused("validation", "; ".join(map(str, flaws)))
        known = {(line.name, line.key_id) for line in _lines(reader, given.head.size)}
        new = {key.label: line for key in keys for line in given.signatures if line.is_of(key)}
        return tuple(
            Fact(kind=COSIGNED, subject=_subject(given.head.size), at_ms=0, body={"line": str(line)})
            for line in new.values()
            if (line.name, line.key_id) not in known
        )


def _cosigned_size(reader: BooksReader, covering: int) -> int | None:
    """The size of the checkpoint that was cosigned last, if that covers the fact."""
    for fact in reader.facts(kind=COSIGNED, newest_first=True, limit=1):
        size = int(fact.subject.removeprefix(f"{SUBJECT}/"))
        return size if size >= covering else None
    return None


def _lines(reader: BooksReader, size: int) -> Iterator[Signature]:
    """The cosignatures that are kept of a checkpoint."""
    for fact in reader.facts(kind=COSIGNED, subject=_subject(size), limit=SIGNATURES_MAX):
        yield read_signature(str(fact.body["line"]).removesuffix("\n"))


def _subject(size: int) -> str:
    return f"{SUBJECT}/{size}"


def _place(reader: BooksReader, prover: Prover, seq: int) -> Place:
    path = prover.inclusion(seq)
    fact = next(reader.facts(after_seq=seq - 1, limit=1))
    return Place(seq=seq, kind=fact.kind, subject=fact.subject, leaf=fact.leaf, path=path)
