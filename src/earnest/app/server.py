"""The platform as one process: what is opened, in order, and what works beside the requests.

All of that work is found again from the books after a stop. What one process does for all that use the same books, it
does while it holds an office.
"""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from earnest.app import places
from earnest.app.between import relay_in
from earnest.app.log_key import open_log_key
from earnest.app.mail_settings import mailer_of
from earnest.app.market import keep_apart, market_of
from earnest.app.own_runs import own_runs_in
from earnest.app.platform import keep_sealing, open_auditor, open_sandbox_in
from earnest.app.secrets_file import open_key_store, read_key_store
from earnest.app.settings import Settings
from earnest.audit.report import AuditReport, report_lines
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.clock import Chance, Clock, SystemChance, SystemClock
from earnest.effects.ground.locks import FileLock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.lock import writer_lock
from earnest.effects.hands.sandbox.api import SELF_TEST_VALID_MS, Sandbox
from earnest.effects.outside.artifacts.store import MEBIBYTE
from earnest.effects.outside.mail.api import Mailer
from earnest.effects.outside.rails.api import ManualRail, Rail
from earnest.foundation.errors import EarnestError, Unavailable
from earnest.identity.key import LINK_MS, KeyedHash, operator_link
from earnest.journal.notary import Notary
from earnest.journal.signing import read_public_key
from earnest.ledger.payout import MANUAL, STRIPE
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.bus_relay import BusRelay
from earnest.runtime.desk import Desk
from earnest.runtime.market.artifacts import collect_artifacts
from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.letters import AuditLetters, Letters
from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.runtime.market.operating import the_operator
from earnest.runtime.market.payouts import tend_payouts
from earnest.runtime.market.periods import open_first_period
from earnest.runtime.market.presence import Presences
from earnest.runtime.own_runs import OwnRuns
from earnest.runtime.timers import Timers

DISK_BYTES_MIN: Final = 64 * MEBIBYTE
"""What is to be left: one artifact, or the journal of SQLite between two checkpoints."""
BEGIN_AGAIN_MS: Final = 5_000
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformServer:
    """An open platform. `link` is the operator's way in, while there is no operator; else empty.

    `mailer` None: no mail leaves. `working` is what goes on beside the requests, by name: whatever of it ends is a
    fault.
    """

    settings: Settings
    clock: Clock
    market: Market
    hashing: KeyedHash
    sandbox: Sandbox
    presences: Presences
    mailer: Mailer | None
    notary: Notary
    own: OwnRuns
    relay: BusRelay | None
    link: str
    working: dict[str, asyncio.Task[None]]

    @property
    def database(self) -> Database:
        """The books."""
        return self.market.desk.database

    def readiness(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        """What must be in order for work to be taken; each says what is wrong, or nothing."""
        return {"books": self._books, "sandbox": self._tested, "work": self._work}

    def gauges(self) -> Mapping[str, tuple[str, Callable[[], float]]]:
        """What monitoring may ask."""
        relay = self.relay
        return {
            "facts": ("The number of the newest fact.", lambda: self.database.last_seq),
            **({} if relay is None else relay.gauges()),
        }

    async def _books(self) -> str:
        if fault := disk_fault(self.settings.home):
            return fault
        try:
            await self.database.write(lambda _: None)
        except EarnestError as error:
            return str(error)
        return ""

    async def _tested(self) -> str:
        return (await self.sandbox.self_test(SELF_TEST_VALID_MS)).reason

    async def _work(self) -> str:
        return ", ".join(f"{name} has ended" for name, task in self.working.items() if task.done())


@contextlib.asynccontextmanager
async def open_server(settings: Settings, *, works: bool = True) -> AsyncIterator[PlatformServer]:
    """Open the market of a data directory and begin the work beside it; not `works`: workers judge.

    Books in a file have one server, those on PostgreSQL any number.

    Raises `Refused`: `data_directory_in_use` beside another server, `key_store_damaged`, `log_key_damaged`.
    """
    clock, chance = SystemClock(), SystemChance()
    places.make(settings.home)
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(settings.books, Path):
            stack.callback(server_lock(settings.home).close)
        practice = settings.market.practice
        keep_apart(settings.home, practice=practice)
        database = stack.enter_context(contextlib.closing(Database.open(settings.books, clock)))
        hashing = open_key_store(settings.home, database, clock, chance)
        notary = open_log_key(settings.home, database, clock, chance)
        bus, desk = Bus(), Desk(database, clock, chance)
        audit_letters = AuditLetters(desk)
        auditor = stack.enter_context(
            contextlib.closing(open_auditor(settings, bus, clock, partial(_tell, audit_letters)))
        )
        relay = await relay_in(stack, settings, database, bus, clock)
        sandbox = await open_sandbox_in(stack, settings, clock)
        keep_sealing(stack, settings, database, bus, clock, auditor=auditor)
        market = market_of(settings, desk, sandbox, clock, chance)
        await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
        await market.desk.tick(open_first_period)
        presences = Presences(market.desk)
        mailer = mailer_of(settings.mail, clock)
        is_new = database.read_sync(the_operator) is None
        server = PlatformServer(
            settings=settings,
            clock=clock,
            market=market,
            hashing=hashing,
            sandbox=sandbox,
            presences=presences,
            mailer=mailer,
            notary=replace(notary, witnesses=tuple(map(read_public_key, settings.server.witnesses))),
            own=await own_runs_in(settings, database, clock),
            relay=relay,
            link=_link(hashing, clock, chance) if is_new else "",
            working={},
        )
        for_all = work_for_all(market, mailer, rails_of({} if practice else os.environ))
        work: dict[str, Work] = {
            **(judging_of(market, is_only=isinstance(settings.books, Path)) if works else {}),
            **{name: partial(elected, TIMERS, name, begin, database, clock) for name, begin in for_all.items()},
            "presences": presences.run,
            "auditor": auditor.watch,
            "audit letters": audit_letters.run,
        }
        stack.push_async_callback(presences.flush)
        for name, begin in work.items():
            server.working[name] = asyncio.get_running_loop().create_task(kept_up(name, begin, clock), name=name)
            stack.push_async_callback(stopped, [server.working[name]])
        yield server


def _tell(letters: AuditLetters, report: AuditReport) -> None:
    """A mail for findings: that all is well stands in the file."""
    if report.has_findings:
        letters.post(report_lines(report))


def server_lock(home: Path) -> FileLock:
    """The work beside the requests is one process's. Raises `Refused("data_directory_in_use")`, naming it."""
    path = places.lock(home, "server")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    return writer_lock(path, f"{home} is served by")


async def kept_up(name: str, begin: Work, clock: Clock) -> None:
    """Have work go on: what a failing or full disk or a busy database has ended begins again: it is all in the books.

    Anything else that ends it is raised. The log has either.
    """
    while True:
        try:
            return await begin()
        except (EarnestError, OSError) as error:
            _LOG.error("%s has ended and begins again: %s", name, error)
        except Exception:
            _LOG.exception("%s has ended", name)
            raise
        await clock.sleep_ms(BEGIN_AGAIN_MS)


def disk_fault(home: Path) -> str:
    """What is wrong with the disk that the books lie on; empty for nothing."""
    free_bytes = shutil.disk_usage(home).free
    return f"the disk has {free_bytes // MEBIBYTE} MiB left" if free_bytes < DISK_BYTES_MIN else ""


def operator_link_for(settings: Settings) -> str:
    """A one-time secret for the operator, made beside a running platform. Raises `Refused`: see `read_key_store`."""
    return _link(read_key_store(settings.home), SystemClock(), SystemChance())


def _link(hashing: KeyedHash, clock: Clock, chance: Chance) -> str:
    now_ms = clock.now_ms()
    return operator_link(hashing, chance.new_id(now_ms), now_ms + LINK_MS)


async def stopped(tasks: Collection[asyncio.Task[None]]) -> None:
    """Stop pieces of work, and wait until they have stopped."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


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
        with contextlib.suppress(Unavailable):
            await act()
        await clock.sleep_ms(period_ms)
