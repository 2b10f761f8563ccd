"""What a witness remembers of a log, and how it sees that the log only grew."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.journal.merkle import verify_consistency
from earnest.journal.notes import Checkpoint, Flaw, checkpoint_flaws
from earnest.journal.signing import PublicKey

FORKED: Final = "the log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The last checkpoint of a log that a witness found in order, and the key that signed it."""

    key: PublicKey
    checkpoint: Checkpoint


def growth_flaws(seen: Seen, now: Checkpoint, proof: Sequence[bytes]) -> list[Flaw]:
    """Why `now` is no later state of the log that was seen; empty if it is one.

    Both checkpoints are signed by the log, so that two which contradict each other are evidence for anybody.
    """
    if flaws := checkpoint_flaws(now, [seen.key]):
        return flaws
    old = seen.checkpoint
    if now.origin != old.origin:
        return [Flaw(where=FORKED, why=f"its origin was {old.origin} and is {now.origin}")]
    if now.head.size < old.head.size:
        return [Flaw(where=FORKED, why=f"it went back from {old.head.size} facts to {now.head.size}")]
    is_grown = verify_consistency(
        first=old.head.size,
        first_root=old.head.root,
        second=now.head.size,
        second_root=now.head.root,
        proof=proof,
    )
    if not is_grown:
        why = f"it forked: the first {old.head.size} of its {now.head.size} facts are not those that were seen"
        return [Flaw(where=FORKED, why=why)]
    return []
