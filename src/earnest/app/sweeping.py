"""A sweep of the data directory under the settings in force."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from earnest.app import places
from earnest.app.readers import reading_books
from earnest.app.settings import Settings
from earnest.audit.removal import OldFile, old_files
from earnest.effects.ground.clock import Clock, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.outside.artifacts.store import MEBIBYTE
from earnest.foundation.instants import DAY_MS
from earnest.market.claims.evidence import Artifact
from earnest.runtime.sweeping import (
    ARTIFACTS_AT_ONCE,
    Retention,
    Sweep,
    Swept,
    UnusedArtifacts,
    end_artifacts,
    unused_artifacts,
)
from earnest.runtime.verdict_book import VerdictBook


def sweep(
    settings: Settings, *, dry: bool, tell: Callable[[str], None] = lambda _: None, clock: Clock | None = None
) -> Swept:
    """See `Sweep.run`; then old artifacts that nothing uses end, and the audit log's old files go.

    The platform collects the artifacts' contents. Raises `Refused("no_database")` before the first run.
    """
    clock = clock or SystemClock()
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
        before_ms = clock.now_ms() - settings.artifacts_days * DAY_MS
        unused = books.read_sync(partial(unused_artifacts, since_ms=before_ms))
    artifacts = list(unused.artifacts) if dry else _end(settings, unused, clock)
    old = list(old_files(places.audit_log(settings.home), clock.now_ms() - settings.audit_days * DAY_MS))
    if old and not dry:
        remove_audit_files(settings, old, clock)
    freed_bytes = swept.freed_bytes + sum(one.size_bytes for one in old)
    return replace(
        swept,
        freed_bytes=freed_bytes,
        artifacts=tuple(one.id for one in artifacts),
        audit_files=tuple(one.path.name for one in old),
    )


def _end(settings: Settings, unused: UnusedArtifacts, clock: Clock) -> list[Artifact]:
    ended: list[Artifact] = []
    if unused.artifacts:
        with contextlib.closing(Database.open(settings.books, clock)) as database:
            for first in range(0, len(unused.artifacts), ARTIFACTS_AT_ONCE):
                some = unused.artifacts[first : first + ARTIFACTS_AT_ONCE]
                now_ms = clock.now_ms()
                ended += database.write_sync(partial(end_artifacts, artifacts=some, seq=unused.seq, at_ms=now_ms))
    return ended


def remove_audit_files(settings: Settings, old: list[OldFile], clock: Clock) -> None:
    """Record that each goes, then remove it, so that what is left of the log is never taken for one that was cut."""
    with contextlib.closing(Database.open(settings.books, clock)) as database:
        for one in old:
            database.write_sync(partial(Transaction.record, fact=one.removal(clock.now_ms())))
            one.path.unlink(missing_ok=True)
