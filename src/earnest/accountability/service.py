"""The books of accountability: agreements, heartbeats, votes, and the scores that facts alone move."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from earnest.accountability import rows
from earnest.accountability.agreement import Agreement, possible_of
from earnest.accountability.days import RECENT_DAYS, Day, day_id
from earnest.accountability.points import Charge
from earnest.accountability.score import Score, account_of, amended, booked, subject_of, turned
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Book, differences, row_json
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken
from earnest.foundation.facts import Fact

SCORE_BOOKED: Final = "score.booked"
BEING_JUDGED: Final = "state = 'verifying'"
"""Heartbeats that wait for the sidecar: word for word the condition of their index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """What was booked: how the agent stood before and after, the day that it counts for, and the fact's number."""

    before: Score
    after: Score
    day: Day
    seq: int


class ScoreBook(Book[Score]):
    """Scores and their days. Everything that moves them is one kind of fact, which holds what it explains.

    Its subject is the account's score (`subject_of`): nothing else stands between two of them. Its body: `source` (a
    heartbeat, a vote), `date`, `events` ({rule, task, points, reason}) and the rows' changes.
    """

    def __init__(self) -> None:
        super().__init__("score", rows.SCORES)
        self.days: Final = rows.DAYS
        self.projections = {SCORE_BOOKED: self._booked}

    def of(self, reader: BooksReader, account_id: str) -> Score:
        """How an account stands; before anything was booked, as it begins."""
        return self.get(reader, account_id) or Score(account_id=account_id)

    def recent(self, reader: BooksReader, account_id: str, limit: int = RECENT_DAYS) -> list[Day]:
        """The last days with a record, the newest first, the open one among them."""
        return list(self.days.where(reader, "account_id = ? ORDER BY date DESC LIMIT ?", (account_id, limit)))

    def book(
        self,
        transaction: Transaction,
        at_ms: int,
        account_id: str,
        charges: Sequence[Charge],
        *,
        date: str,
        agreement: Agreement,
        source: str,
        touching: Iterable[str] = (),
    ) -> Booking:
        """Book points of the day `date`, all at once; a later day than the last begins, an earlier one is amended.

        A day before the last that has no record cannot get one any more: its points count for the last.
        """
        known = self.get(transaction, account_id)
        before = known or Score(account_id=account_id)
        score, opened = before, None
        if date > before.date:
            closed = self.recent(transaction, account_id)
            score, opened = turned(before, closed, date, agreement.zone, possible_of(agreement, at_ms))
        old = opened or self._day(transaction, account_id, date, score.date)
        if old.date == score.date:
            after, day = booked(score, old, charges, at_ms)
        else:
            closed = [each for each in self.recent(transaction, account_id, -1) if each.date != score.date]
            after, day = amended(score, closed, old, charges)
        body: JsonObject = {
            "source": source,
            "date": day.date,
            "events": [
                {"rule": one.rule.value, "task": one.task, "points": one.points, "reason": one.reason}
                for one in charges
            ],
            "score": row_json(after) if known is None else differences(known, after),
            "day": row_json(day) if opened is not None else differences(old, day),
            "opens": {"score": known is None, "day": opened is not None},
        }
        fact = Fact(kind=SCORE_BOOKED, subject=subject_of(account_id), at_ms=at_ms, body=body)
        seq = transaction.record(fact, touching)
        self._booked(transaction, fact)
        return Booking(before=before, after=after, day=day, seq=seq)

    def _day(self, reader: BooksReader, account_id: str, date: str, last: str) -> Day:
        for wanted in (date, last):
            if (found := self.days.get(reader, day_id(account_id, wanted))) is not None:
                return found
        raise Broken(f"{account_id} has no record of {last}")

    def _booked(self, transaction: Transaction, fact: Fact) -> None:
        body = cast("Mapping[str, Any]", fact.body)
        account_id = account_of(fact.subject)
        for table, name, key in (
            (self, "score", account_id),
            (self.days, "day", day_id(account_id, body["date"])),
        ):
            given = cast("Mapping[str, JsonValue]", body[name])
            if body["opens"][name]:
                table.insert(transaction, given)
            else:
                table.update(transaction, key, given)


AGREEMENTS: Final = Book("agreement", rows.AGREEMENTS)
HEARTBEATS: Final = Book("heartbeat", rows.HEARTBEATS)
VOTES: Final = Book("vote", rows.VOTES)
SCORES: Final = ScoreBook()

BOOKS: Final[tuple[Book[Any], ...]] = (AGREEMENTS, HEARTBEATS, VOTES, SCORES)
EXTRA_TABLES: Final[Mapping[str, str]] = {SCORES.days.table: SCORES.days.key}
"""Tables of a book that has more than its own, and their keys."""
