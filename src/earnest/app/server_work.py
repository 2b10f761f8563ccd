"""What works beside the requests, all of it found again from the books after a stop.

What one process does for all that use the same books, it does while it holds an office.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.mail.api import Mailer
from earnest.effects.outside.rails.api import ManualRail, Rail
from earnest.foundation.errors import Unavailable
from earnest.ledger.payout import MANUAL, STRIPE
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.market.artifacts import collect_artifacts
from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.letters import Letters
from earnest.runtime.market.market import Market
from earnest.runtime.market.payouts import tend_payouts
from earnest.runtime.timers import Timers

TIMERS: Final = "timers"
STRIPE_KEY: Final = "EARNEST_STRIPE_KEY"
PAYOUTS_LOOK_MS: Final = 10_000
REPLIES_LOOK_MS: Final = 3_600_000
"""For answers that nobody may ask for any more, which are dropped."""
ARTIFACTS_LOOK_MS: Final = 3_600_000
"""For artifacts that nobody has brought, which are removed."""
OFFICE_LOOK_MS: Final = 500
_LOG: Final = logging.getLogger("earnest.work")

Work: TypeAlias = Callable[[], Coroutine[None, None, None]]
"""What goes on until it is cancelled."""


def judging_of(market: Market, *, is_only: bool) -> Mapping[str, Work]:
    """By name, what any number of processes do together. `is_only`: no other server has these books."""
    kinds = {"judging": Judging, "heartbeats": HeartbeatJudging}
    return {name: kind(market, f"server {name}" if is_only else "").run for name, kind in kinds.items()}


def work_for_all(market: Market, mailer: Mailer | None, rails: Mapping[str, Rail]) -> Mapping[str, Work]:
    """By name, what one process does for all: it holds the office `TIMERS`. Without a mailer, mails wait in the books.

    Whoever has just lost the office may end what it is at: a deadline is met once, money leaves once, by the ids that
    stand in the books; a mail may leave twice, as after a crash.
    """
    desk = market.desk
    timers = Timers(desk, market.terms, TIMETABLE, _LOG.error)
    work: dict[str, Work] = {
        "timers": lambda: timers.run(desk.clock),
        "payouts": lambda: _at_times(desk.clock, PAYOUTS_LOOK_MS, lambda: tend_payouts(desk, rails)),
        "replies": lambda: _at_times(desk.clock, REPLIES_LOOK_MS, desk.forget_replies),
        "artifacts": lambda: _at_times(desk.clock, ARTIFACTS_LOOK_MS, lambda: collect_artifacts(market)),
    }
    if mailer is not None:
        work["letters"] = Letters(desk, mailer).run
    return work


async def elected(office: str, name: str, begin: Work, database: Database, clock: Clock) -> None:
    """Do it while this process holds `office`, until it ends. When the office is lost it is stopped where it is."""
    while True:
        while not database.leads(office):
            await clock.sleep_ms(OFFICE_LOOK_MS)
        work = asyncio.get_running_loop().create_task(begin(), name=name)
        try:
            while not work.done() and database.leads(office):
                await asyncio.wait([work], timeout=OFFICE_LOOK_MS / 1000)
        finally:
            was_done = work.done()
            work.cancel()
            await asyncio.wait([work])
        if was_done:
            return work.result()
        _LOG.warning("%s is another process's now: this one has lost the office of %s", name, office)


def rails_of(environment: Mapping[str, str]) -> Mapping[str, Rail]:
    """By which rails money leaves: by hand, and through Stripe where a key of its API is given."""
    rails: dict[str, Rail] = {MANUAL: ManualRail()}
    if key := environment.get(STRIPE_KEY, ""):
        from earnest.effects.outside.rails.stripe import StripeRail  # noqa: PLC0415 - a library that few have

        rails[STRIPE] = StripeRail(key)
    return rails


async def _at_times(clock: Clock, period_ms: int, act: Callable[[], Awaitable[object]]) -> None:
    """At once, and again in each period; what is unavailable is tried again in the next."""
    while True:
        with suppress(Unavailable):
            await act()
        await clock.sleep_ms(period_ms)
