"""Leave that runs wait for: what they ask, and what a person says who does not sit at their terminal.

Question and answer are facts of the run. Whoever has the books can read the one and write the other; the process that
asks looks for the answer beside its own terminal.
"""

from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.engine.codec import encode
from earnest.engine.facts import FINISHED, LEAVE_ASKED, LEAVE_SAID, OUTCOME
from earnest.engine.messages import ConfirmationAsked
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.foundation.shapes import from_json

LOOK_MS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveQuestion:
    """A call of a run that waits for leave; `key` is that of the call."""

    run_id: str
    key: str
    asked: ConfirmationAsked


def open_questions(reader: BooksReader, run_id: str, now_ms: int) -> list[LeaveQuestion]:
    """What a run asks for now, the first question first: not answered, and its time is not over."""
    waiting: dict[str, LeaveQuestion] = {}
    for fact in reader.facts(kind=(LEAVE_ASKED, LEAVE_SAID, OUTCOME, FINISHED), subject=run_id):
        if fact.kind == FINISHED:
            return []
        key = str(fact.body["key"])
        waiting.pop(answer_key(key) if fact.kind == LEAVE_SAID else key, None)
        if fact.kind == LEAVE_ASKED:
            asked = from_json(ConfirmationAsked, fact.body["asked"], f"what fact {fact.seq} asks")
            waiting[answer_key(key)] = LeaveQuestion(run_id=run_id, key=key, asked=asked)
    return [one for one in waiting.values() if now_ms < one.asked.expires_at_ms]


def answer_key(key: str) -> str:
    """The key of the outcome that ends the question of a call."""
    return f"{key}/answer"


async def say(database: Database, clock: Clock, run_id: str, key: str, action: str, *, approved: bool, by: str) -> None:
    """Answer what a run asks, for exactly this action. Records `confirmation.said`.

    Raises `Refused("leave_unasked")` where that is not asked, or not any more.
    """

    def write(transaction: Transaction) -> int:
        asked = open_questions(transaction, run_id, clock.now_ms())
        if not any((one.key, one.asked.action) == (key, action) for one in asked):
            raise Refused("leave_unasked", f"{run_id} does not wait for leave for this")
        body: JsonObject = {"key": key, "action": action, "approved": approved, "by": by}
        return transaction.record(Fact(kind=LEAVE_SAID, subject=run_id, at_ms=clock.now_ms(), body=body))

    await database.write(write)


async def ask(database: Database, clock: Clock, run_id: str, key: str, asked: ConfirmationAsked) -> tuple[bool, str]:
    """Ask in the books, and wait for the answer to this question: yes or no, and who gave it. It may never come."""
    body: JsonObject = {"key": key, "asked": encode(asked)}
    fact = Fact(kind=LEAVE_ASKED, subject=run_id, at_ms=clock.now_ms(), body=body)
    seq = await database.write(lambda transaction: transaction.record(fact))

    def answers(reader: BooksReader) -> list[JsonObject]:
        return [fact.body for fact in reader.facts(kind=LEAVE_SAID, subject=run_id, after_seq=seq)]

    while True:
        for answer in await database.read(answers):
            if (answer["key"], answer["action"]) == (key, asked.action):
                return answer["approved"] is True, str(answer["by"])
        await clock.sleep_ms(LOOK_MS)
