"""Effects of which a crash left open whether they happened: what a person is asked, and what they answer.

Question and answer are facts of the run. Whoever has the books can ask and answer: a terminal, a dashboard.
"""

from dataclasses import dataclass
from enum import StrEnum

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.engine.facts import DECIDED, FINISHED
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.runtime.run_book import read_kept


class EffectDecision(StrEnum):
    """What a person says of an unknown effect."""

    HAPPENED = "happened"
    """The run goes on as if it had seen it happen."""
    ABSENT = "absent"
    """The run makes it."""
    GIVE_UP = "give-up"
    """The run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEffect:
    """An effect outside the workspace that began and has no outcome. `why` says why no machine can tell."""

    run_id: str
    key: str
    wording: str
    why: str


def open_effect(reader: BooksReader, run_id: str) -> UnknownEffect | None:
    """What a person is asked before the run can go on: one thing at a time."""
    if any(reader.facts(kind=FINISHED, subject=run_id)):
        return None
    for key, body in read_kept(reader, run_id).asked.items():
        return UnknownEffect(run_id=run_id, key=key, wording=str(body["wording"]), why=str(body["why"]))
    return None


async def decide(
    database: Database, clock: Clock, run_id: str, decision: EffectDecision, *, by: str, key: str | None = None
) -> None:
    """Answer what is asked about a run, or, with `key`, exactly this. Records `effect.decided`.

    Raises `Refused("effect_unasked")` where that is not asked, or not any more.
    """

    def write(transaction: Transaction) -> int:
        asked = open_effect(transaction, run_id)
        if asked is None or key not in (None, asked.key):
            raise Refused("effect_unasked", f"{run_id} does not wait for a word about an effect")
        body = {"key": asked.key, "decision": decision.value, "by": by}
        return transaction.record(Fact(kind=DECIDED, subject=run_id, at_ms=clock.now_ms(), body=body))

    await database.write(write)
