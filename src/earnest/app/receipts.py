"""Receipts from the data directory, checked anywhere, and judged again where the market's books lie."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.log_key import LogKey, new_log_key, open_log_key, read_log_key
from earnest.app.readers import reading_books
from earnest.app.settings import Settings
from earnest.effects.ground.clock import Chance, Clock, SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused
from earnest.journal.notes import Cosigned, Flaw, checkpoint_flaws, cosigned_by, read_checkpoint
from earnest.journal.receipt import RECEIPT_BYTES_MAX, Draft, check_receipt
from earnest.journal.signing import PublicKey, need_library, read_public_key
from earnest.verification.replay import Comparison
from earnest.views.agents_public import find_agent
from earnest.views.receipts import claim_draft, day_draft, run_draft

CLAIM: Final = "clm_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file that was checked. `statement` None: it is a checkpoint. `size`: of how many facts the checkpoint is."""

    flaws: tuple[Flaw, ...]
    statement: JsonObject | None
    origin: str
    size: int
    cosigned: tuple[Cosigned, ...]


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


def keys_of(texts: Sequence[str]) -> tuple[PublicKey, ...]:
    """Verifier keys, each given as itself or as a file that holds it. Raises `Refused("key_unreadable")`."""
    return tuple(read_public_key(_line(text)) for text in texts)


def keys_here(settings: Settings) -> tuple[PublicKey, ...]:
    """Every key that the log of the data directory signs or signed with. Raises `Refused`."""
    notary = log_key_here(settings).notary()
    return (notary.key.public, *notary.former)


def check_file(path: Path, logs: Sequence[PublicKey], witnesses: Sequence[PublicKey]) -> Checked:
    """Check a receipt or a checkpoint, with nothing but the keys. Raises `Refused("signing_missing")`, `OSError`."""
    need_library()
    data = read_receipt(path)
    if data.startswith(b"{"):
        found = check_receipt(data, logs, witnesses)
        checkpoint, flaws, statement = found.checkpoint, found.flaws, found.statement
    else:
        try:
            checkpoint, statement = read_checkpoint(data.decode()), None
        except ValueError as error:
            flaw = Flaw(where="file", why=f"it is neither a receipt nor a checkpoint: {error}")
            return Checked(flaws=(flaw,), statement=None, origin="", size=0, cosigned=())
        flaws = tuple(checkpoint_flaws(checkpoint, logs, witnesses))
    return Checked(
        flaws=flaws,
        statement=statement,
        origin=checkpoint.origin if checkpoint else "",
        size=checkpoint.head.size if checkpoint else 0,
        cosigned=cosigned_by(checkpoint, witnesses) if checkpoint else (),
    )


def read_receipt(path: Path) -> bytes:
    """What a file holds, one byte more than a receipt may have at most. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(RECEIPT_BYTES_MAX + 1)


async def replayed_receipt(path: Path, settings: Settings) -> tuple[Comparison, ...]:
    """Judge again what a receipt of this market's says was judged. Nothing is recorded.

    Raises `Refused`: `receipt_flawed`, and as `replayed_claim`.
    """
    checked = check_file(path, keys_here(settings), ())
    if checked.flaws or checked.statement is None:
        why = str(checked.flaws[0]) if checked.flaws else "it is a checkpoint"
        raise Refused("receipt_flawed", f"{path} is no receipt of this log: {why}")
    from earnest.app.judging import verifying  # noqa: PLC0415 - loads all that judging needs
    from earnest.effects.outside.artifacts.store import ArtifactStore  # noqa: PLC0415
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
                artifacts=ArtifactStore(places.artifacts(settings.home)),
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


def _line(text: str) -> str:
    path = Path(text)
    try:
        is_file = path.is_file()
    except OSError:  # a key is too long for a name
        is_file = False
    if not is_file:
        return text.strip()
    try:
        return path.read_text(encoding="utf-8")[:2_000].strip()
    except UnicodeDecodeError:
        raise Broken(f"{path} holds no key") from None
