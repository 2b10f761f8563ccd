"""Receipts from the data directory, and what they say was judged, judged again."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from earnest.app.checking import check_file
from earnest.app.log_key import LogKey, new_log_key, open_log_key, read_log_key
from earnest.app.readers import reading_books
from earnest.app.settings import Settings
from earnest.effects.ground.clock import Chance, Clock, SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.journal.receipt import Draft
from earnest.journal.signing import PublicKey
from earnest.verification.replay import Comparison
from earnest.views.agents_public import find_agent
from earnest.views.receipts import claim_draft, day_draft, run_draft

CLAIM: Final = "clm_"


def receipt_here(what: str, settings: Settings) -> bytes:
    """The receipt of a claim (`clm_…`), a day (`HANDLE/YYYY-MM-DD`) or a run, by the books of the data directory.

    Raises `Refused`: `not_found`, `run_unknown`, `not_ended`, `not_sealed`, and as `log_key_here`.
    """
    notary = log_key_here(settings).notary()
    with reading_books(settings) as books:
        return books.read_sync(lambda reader: notary.receipt(reader, _draft(reader, what)))


def log_key_here(settings: Settings) -> LogKey:
    """The log's key, made if there is none yet. Raises `Refused`: as `open_log_key`, and `no_database`."""
    with reading_books(settings) as books:
        try:
            return books.read_sync(lambda reader: read_log_key(settings.home, reader))
        except Refused as refused:
            if refused.code != "log_key_missing":
                raise
    return _writing(settings, open_log_key)


def another_log_key(settings: Settings, origin: str) -> LogKey:
    """Have the log sign with another key from now on. Raises `Refused`: as `new_log_key`, and `no_database`."""
    with reading_books(settings):
        pass  # a log that has no facts has nothing to sign
    return _writing(settings, partial(new_log_key, origin=origin))


def keys_here(settings: Settings) -> tuple[PublicKey, ...]:
    """Every key that the log of the data directory signs or signed with. Raises `Refused`."""
    notary = log_key_here(settings).notary()
    return (notary.key.public, *notary.former)


async def replayed_receipt(path: Path, settings: Settings) -> tuple[Comparison, ...]:
    """Judge again what a receipt of this market's says was judged. Nothing is recorded.

    Raises `Refused`: `receipt_flawed`, and as `replayed_claim`.
    """
    checked = check_file(path, keys_here(settings), ())
    if checked.flaws or checked.statement is None:
        why = str(checked.flaws[0]) if checked.flaws else "it is a checkpoint"
        raise Refused("receipt_flawed", f"{path} is no receipt of this log: {why}")
    from earnest.app.artifacts import artifact_store  # noqa: PLC0415
    from earnest.app.judging import verifying  # noqa: PLC0415 - loads all that judging needs
    from earnest.effects.outside.web.fetching import Web  # noqa: PLC0415
    from earnest.runtime.desk import Desk  # noqa: PLC0415
    from earnest.runtime.market.market import Market  # noqa: PLC0415
    from earnest.runtime.replaying import replayed_claim  # noqa: PLC0415
    from earnest.verification.registry import Registry  # noqa: PLC0415

    clock = SystemClock()
    with contextlib.closing(Database.open(settings.books, clock)) as database:
        async with verifying(settings, clock) as verifier:
            market = Market(
                desk=Desk(database, clock, SystemChance()),
                terms=settings.market,
                verifier=verifier,
                registry=Registry(),
                artifacts=artifact_store(settings),
                web=Web(clock),
            )
            predicate = checked.statement["predicate"]
            assert isinstance(predicate, dict)
            return await replayed_claim(market, predicate)


def _writing(settings: Settings, take: Callable[[Path, Database, Clock, Chance], LogKey]) -> LogKey:
    clock = SystemClock()
    with contextlib.closing(Database.open(settings.books, clock)) as database:
        return take(settings.home, database, clock, SystemChance())


def _draft(reader: BooksReader, what: str) -> Draft:
    handle, slash, date = what.partition("/")
    if slash:
        account = find_agent(reader, handle)
        return day_draft(reader, account.id, account.handle, date, SystemClock().now_ms())
    if what.startswith(CLAIM):
        return claim_draft(reader, what, "", sees_all=True)
    return run_draft(reader, what)
