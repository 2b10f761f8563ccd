"""Asking people and hearing their answers: reviews that wait and decisions, kept as facts."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused
from earnest.verification.reviews.facts import DECIDED, WAITING, decided_fact, decision_of, review_of, waiting_fact
from earnest.verification.reviews.review import Decision, decide
from earnest.verification.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBook:
    """`verification.plugin.Reviews` over the books. Records `review.waiting` and `review.decided`.

    `reading` gives the books to read, None before there are any; `writing` gives them to write, and may refuse while
    another process does.
    """

    clock: Clock
    reading: Callable[[], AbstractContextManager[ReadPool | None]]
    writing: Callable[[], AbstractContextManager[Database]]

    async def find(self, review_id: str, /) -> Decision | None:
        """See `Reviews`."""
        with self.reading() as books:
            return None if books is None else await books.read(lambda reader: _decision(reader, review_id))

    async def ask(self, verdict: Verdict, /) -> None:
        """See `Reviews`. Raises `Refused("data_directory_in_use")` where another process writes the books."""
        waiting = {review.criterion_id for review in verdict.reviews}
        advice = [criterion for criterion in verdict.criteria if criterion.id not in waiting]
        facts = [waiting_fact(review, advice, self.clock.now_ms()) for review in verdict.reviews]

        def new(reader: BooksReader) -> list[str]:
            return [
                fact.subject for fact in facts if not any(reader.facts(kind=WAITING, subject=fact.subject, limit=1))
            ]

        def record(transaction: Transaction) -> None:
            unknown = new(transaction)
            for fact in facts:
                if fact.subject in unknown:
                    transaction.record(fact)

        with self.reading() as books:  # the usual case: it was asked before, and needs nobody's lock
            if books is not None and not await books.read(new):
                return
        with self.writing() as database:
            await database.write(record)

    async def decide(
        self, review_id: str, *, approve: bool | None, scores: Sequence[int], reason: str, by: str
    ) -> Decision:
        """Record what a person decides. The same words again change nothing and give the first decision.

        Raises `Refused`: `review_unknown`, `review_incomplete`, `review_decided` if it was decided otherwise.
        """
        now_ms = self.clock.now_ms()

        def record(transaction: Transaction) -> Decision:
            asked = next(transaction.facts(kind=WAITING, subject=review_id, limit=1), None)
            if asked is None:
                raise Refused("review_unknown", f"there is no review {review_id}; see `earnest review list`")
            review, _ = review_of(asked.body)
            decision = decide(review, approve=approve, scores=scores, reason=reason, by=by, at_ms=now_ms)
            before = _decision(transaction, review_id)
            if before is None:
                transaction.record(decided_fact(decision))
                return decision
            if not decision.repeats(before):
                word = "approved" if before.approved else "rejected"
                raise Refused("review_decided", f"{review_id} was {word} by {before.by}; a decision stands")
            return before

        with self.writing() as database:
            return await database.write(record)


def _decision(reader: BooksReader, review_id: str) -> Decision | None:
    """The first decision is the one that stands."""
    fact = next(reader.facts(kind=DECIDED, subject=review_id, limit=1), None)
    return None if fact is None else decision_of(fact.body)
