"""Heads of the journal: told on the bus, where no writer of the books can change them, and cosigned by witnesses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from earnest.client.payloads_platform import Cosigned
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import Clock
from earnest.engine.codec import encode
from earnest.engine.messages import Role
from earnest.foundation.canonical import JsonObject
from earnest.journal.heads import Head
from earnest.journal.notary import Notary
from earnest.journal.notes import read_checkpoint
from earnest.runtime.desk import StoryContext


def keep_cosignatures(entry: StoryContext, notary: Notary, note: str) -> Cosigned:
    """Keep what is new below a checkpoint of ours. Raises as `Notary.new_cosignatures`; records `journal.cosigned`."""
    new = notary.new_cosignatures(entry.transaction, note)
    for fact in new:
        entry.transaction.record(replace(fact, at_ms=entry.now_ms))
    return {"size": read_checkpoint(note).head.size, "kept": len(new)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHead:
    """The first `size` facts have the Merkle root `root`, in hexadecimal."""

    size: int
    root: str


TREE_HEAD_SENDERS: Final[Mapping[type, frozenset[Role]]] = {TreeHead: frozenset({Role.RUNTIME})}


def announcing(bus: Bus, clock: Clock) -> Callable[[Head], None]:
    """What the sealer tells of each new head."""

    def announce(head: Head) -> None:
        payload = TreeHead(size=head.size, root=head.root.hex())
        bus.publish(
            Envelope(
                id=f"head/{head.size}",
                run_id="",
                sender=Role.RUNTIME,
                causation_id=None,
                at_ms=clock.now_ms(),
                payload=payload,
            )
        )

    return announce


def encode_said(payload: object) -> JsonObject:
    """The JSON form of whatever a process's bus carries: messages of roles, and heads. Raises `Broken`."""
    if isinstance(payload, TreeHead):
        return {"size": payload.size, "root": payload.root}
    return encode(payload)
