"""Recall: what became of such work before, so that failures are not repeated."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from earnest.agents.actions import SOCIAL
from earnest.agents.means import Means
from earnest.agents.state import AgentState, Memories, OperatorAnswer, RememberedOutcome, Shared, class_of

EACH_MAX: Final = 8
READ_MAX: Final = 400
OUTCOME: Final = "outcome"
ACTION: Final = "action"
QUESTION: Final = "question"
ANSWER: Final = "answer"


async def recall(state: AgentState, means: Means) -> AgentState:
    """Failures and successes, those of the classes of work at hand first, and what the operator has answered."""
    means.book.refresh()
    at_hand = {class_of(job) for job in state["jobs"]["available"]}
    known = list(islice(means.book.rows(OUTCOME), READ_MAX))
    known.sort(key=lambda row: row["about"] not in at_hand)  # stable: the newest first within each
    failures = [_remembered(row) for row in known if not row["is_good"]]
    successes = [_remembered(row) for row in known if row["is_good"]]
    memories = Memories(
        failures=failures[:EACH_MAX],
        successes=successes[:EACH_MAX],
        answers=[
            OperatorAnswer(about=row["about"], answer=row["text"]) for row in islice(means.book.rows(ANSWER), EACH_MAX)
        ],
        shared=list(islice(_shared(means.book.rows(ACTION)), EACH_MAX)),
    )
    return {**state, "memories": memories}


def _remembered(row: dict[str, Any]) -> RememberedOutcome:
    return RememberedOutcome(
        about=row["about"], job_id=row["job_id"], is_good=row["is_good"], text=row["text"], at_ms=row["at_ms"]
    )


def _shared(rows: Iterable[dict[str, Any]]) -> Iterator[Shared]:
    for row in rows:
        done = row["action"]
        if done["kind"] in SOCIAL:
            yield Shared(kind=done["kind"], text=done.get("text") or done["place"], at_ms=row["at_ms"])
