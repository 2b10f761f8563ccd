"""What works beside the requests, all of it found again from the books after a stop."""

import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from earnest.effects.outside.mail.api import Mailer
from earnest.effects.outside.rails.api import ManualRail, Rail
from earnest.foundation.errors import Unavailable
from earnest.ledger.payout import MANUAL, STRIPE
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.desk import Desk
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
ARTIFACTS_LOOK_MS: Final = 3_600_000
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
        "payouts": lambda: _tend(desk, rails),
        "replies": lambda: _forget(desk),
        "artifacts": lambda: _collect(market),
    }
    if mailer is not None:
        work["letters"] = Letters(desk, mailer).run
    return work


def rails_of(environment: Mapping[str, str]) -> Mapping[str, Rail]:
    """By which rails money leaves: by hand, and through Stripe where a key of its API is given."""
    rails: dict[str, Rail] = {MANUAL: ManualRail()}
    if key := environment.get(STRIPE_KEY, ""):
        from earnest.effects.outside.rails.stripe import StripeRail  # noqa: PLC0415 - a library that few have

        rails[STRIPE] = StripeRail(key)
    return rails


async def _tend(desk: Desk, rails: Mapping[str, Rail]) -> None:
    while True:
        with suppress(Unavailable):
            await tend_payouts(desk, rails)
        await desk.clock.sleep_ms(PAYOUTS_LOOK_MS)


async def _forget(desk: Desk) -> None:
    """Drop answers that nobody may ask for any more."""
    while True:
        with suppress(Unavailable):
            await desk.forget_replies()
        await desk.clock.sleep_ms(REPLIES_LOOK_MS)


async def _collect(market: Market) -> None:
    """Remove artifacts that nobody has brought: at the start, and from time to time."""
    while True:
        with suppress(Unavailable):
            await collect_artifacts(market)
        await market.desk.clock.sleep_ms(ARTIFACTS_LOOK_MS)
