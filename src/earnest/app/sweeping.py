"""A sweep of the data directory under the settings in force."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from earnest.app import places
from earnest.app.readers import reading_books
from earnest.app.settings import Settings
from earnest.audit.removal import OldFile, old_files
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.outside.artifacts.store import MEBIBYTE
from earnest.foundation.instants import DAY_MS
from earnest.runtime.retention import Retention
from earnest.runtime.sweeping import Sweep, Swept
from earnest.runtime.verdict_book import VerdictBook


def sweep(settings: Settings, *, dry: bool, tell: Callable[[str], None] = lambda _: None) -> Swept:
    """See `Sweep.run`; then the audit log's old files go. Raises `Refused("no_database")` before the first run."""
    clock = SystemClock()
    sweeping = Sweep(
        home=settings.home,
        retention=Retention(
            runs_days=settings.runs_days, stages_days=settings.stages_days, verdicts_days=settings.verdicts_days
        ),
        verdicts=VerdictBook(places.verdicts(settings.home), settings.verdicts_mb * MEBIBYTE),
        dry=dry,
    )
    with reading_books(settings) as books:
        swept = sweeping.run(books, clock.now_ms(), tell)
    old = list(old_files(places.audit_log(settings.home), clock.now_ms() - settings.audit_days * DAY_MS))
    if old and not dry:
        remove_audit_files(settings, old, clock)
    freed_bytes = swept.freed_bytes + sum(one.size_bytes for one in old)
    return replace(swept, freed_bytes=freed_bytes, audit_files=tuple(one.path.name for one in old))


def remove_audit_files(settings: Settings, old: list[OldFile], clock: SystemClock) -> None:
    """Record that each goes, then remove it, so that what is left of the log is never taken for one that was cut."""
    with contextlib.closing(Database.open(settings.books, clock)) as database:
        for one in old:
            database.write_sync(partial(Transaction.record, fact=one.removal(clock.now_ms())))
            one.path.unlink(missing_ok=True)
