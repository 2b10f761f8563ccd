"""Beginning a period: the one before ends with the fact before it, and nothing else changes."""

from dataclasses import replace

from earnest.client.payloads_platform import Period as Shown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.key import Scope
from earnest.market.periods.period import FIRST, Period, check_name, ended, period_json
from earnest.market.service import PERIODS
from earnest.runtime.desk import StoryContext


def open_period(entry: StoryContext, name: str) -> Shown:
    """The operator begins a period. Raises `Refused`: `scope_forbidden`, `validation`, `period_exists`."""
    entry.me.need(Scope.OPERATOR)
    check_name(name)
    if any(PERIODS.where(entry.transaction, "name = ? LIMIT 1", (name,))):
        raise Refused("period_exists", f"a period is called {name!r}: choose another name")
    return period_json(_opened(entry, name, by=entry.me.id))


def open_first_period(entry: StoryContext) -> Shown:
    """A platform's life is within a period from its first fact on. Does nothing where there is one."""
    return period_json(current_period(entry.transaction) or _opened(entry, FIRST, by=""))


def current_period(reader: BooksReader) -> Period | None:
    """The period that goes on; None before the first."""
    return next(PERIODS.where(reader, "ended_at_ms IS NULL LIMIT 1"), None)


def _opened(entry: StoryContext, name: str, by: str) -> Period:
    (last_fact,) = entry.transaction.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
    before = current_period(entry.transaction)
    if before is not None:
        after = ended(before, last_fact, entry.now_ms)
        PERIODS.change(entry.transaction, entry.now_ms, before, after, event="ended", by=by)
    period = Period(id=entry.new_id("per"), name=name, first_fact=last_fact + 1, opened_at_ms=entry.now_ms)
    if before is None and last_fact:  # what happened before there were periods is of the first
        (began_ms,) = entry.transaction.execute("SELECT at_ms FROM facts WHERE seq = 1").fetchone()
        period = replace(period, first_fact=1, opened_at_ms=began_ms)
    PERIODS.open(entry.transaction, entry.now_ms, period, by=by)
    return period
