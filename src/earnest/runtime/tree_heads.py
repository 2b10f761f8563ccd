"""Heads of the journal on the bus, so that the auditor keeps them where no writer of the books can change them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import Clock
from earnest.engine.messages import Role
from earnest.journal.heads import Head


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
