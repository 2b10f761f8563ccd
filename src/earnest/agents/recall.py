"""Recall: what became of such work before, so that failures are not repeated."""

from collections.abc import Iterable
from typing import Any, Final

from earnest.agents.means import Means
from earnest.agents.state import AgentState, Answered, Memories, Remembered, class_of

EACH_MAX: Final = 8
READ_MAX: Final = 400
OUTCOME: Final = "outcome"
QUESTION: Final = "question"
ANSWER: Final = "answer"


async def recall(state: AgentState, means: Means) -> AgentState:
    """Failures and successes, those of the classes of work at hand first, and what the operator has answered."""
    means.book.refresh()
    at_hand = {class_of(job) for job in state["jobs"]["available"]}
    known = [row for row, _ in zip(means.book.rows(OUTCOME), range(READ_MAX), strict=False)]
    known.sort(key=lambda row: row["about"] not in at_hand)  # stable: the newest first within each
    failures = [_remembered(row) for row in known if not row["is_good"]]
    successes = [_remembered(row) for row in known if row["is_good"]]
    memories = Memories(
        failures=failures[:EACH_MAX], successes=successes[:EACH_MAX], answers=list(_answers(means.book.rows(ANSWER)))
    )
    return {**state, "memories": memories}


def _remembered(row: dict[str, Any]) -> Remembered:
    return Remembered(
        about=row["about"], job_id=row["job_id"], is_good=row["is_good"], text=row["text"], at_ms=row["at_ms"]
    )


def _answers(rows: Iterable[dict[str, Any]]) -> Iterable[Answered]:
    return [Answered(about=row["about"], answer=row["text"]) for row, _ in zip(rows, range(EACH_MAX), strict=False)]
