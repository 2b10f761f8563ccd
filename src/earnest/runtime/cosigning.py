"""Cosignatures of witnesses, kept as facts."""

from dataclasses import replace

from earnest.client.payloads_platform import Cosigned
from earnest.journal.notary import Notary
from earnest.journal.notes import read_checkpoint
from earnest.runtime.desk import StoryContext


def keep_cosignatures(entry: StoryContext, notary: Notary, note: str) -> Cosigned:
    """Keep what is new below a checkpoint of ours. Raises as `Notary.new_cosignatures`; records `journal.cosigned`."""
    new = notary.new_cosignatures(entry.transaction, note)
    for fact in new:
        entry.transaction.record(replace(fact, at_ms=entry.now_ms))
    return {"size": read_checkpoint(note).head.size, "kept": len(new)}
