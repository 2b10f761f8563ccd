"""What follows when points are booked: the score, and word to the owner: of a lockdown, its end, what is exhausted."""

from collections.abc import Sequence
from typing import Final

from earnest.accountability.agreement import Agreement
from earnest.accountability.points import Charge
from earnest.accountability.service import SCORES, Booking
from earnest.accountability.tiers import Penalty
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.presence import tell_owner

LOCKDOWN: Final = "lockdown"
EXHAUSTED: Final = "exhausted"


def book(entry: StoryContext, agreement: Agreement, charges: Sequence[Charge], *, date: str, source: str) -> Booking:
    """Book points for the day `date`, all at once; `source` is what they come from."""
    account_id = agreement.account_id
    booking = SCORES.book(
        entry.transaction,
        entry.now_ms,
        account_id,
        charges,
        date=date,
        agreement=agreement,
        source=source,
        touching=(account_id,),
    )
    was, is_ = (score.penalty is Penalty.LOCKDOWN for score in (booking.before, booking.after))
    if is_ and not was:
        text = f"It stands at {booking.day.score} points of {booking.day.target} today. Every task is required now."
        tell_owner(entry, account_id, LOCKDOWN, "is in lockdown", text)
    elif was and not is_:
        text = f"It stands at {booking.day.score} points of {booking.day.target} today."
        tell_owner(entry, account_id, LOCKDOWN, "has left lockdown", text)
    return booking


def tell_of_exhausted(entry: StoryContext, before: Agreement, after: Agreement, date: str) -> None:
    """The owner hears, once, of each task whose attempts of the day `date` are used up."""
    new = sorted(set(after.exhausted_on(date)) - set(before.exhausted_on(date)))
    if new:
        text = f"No attempts are left today for: {', '.join(new)}. They are not asked for again until tomorrow."
        tell_owner(entry, after.account_id, EXHAUSTED, "has used up its attempts", text)
