"""Receipts: made from the data directory, checked with nothing but keys, and what they are about judged again."""

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from earnest.app.log_key import new_log_key, open_log_key, read_log_key
from earnest.app.readers import reading_books
from earnest.app.settings import Settings
from earnest.effects.ground.clock import Chance, Clock, SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Broken, Refused
from earnest.journal.notary import Notary
from earnest.journal.notes import Flaw, checkpoint_flaws, cosigned_by, read_checkpoint
from earnest.journal.receipt import RECEIPT_BYTES_MAX, CheckedReceipt, Draft, check_receipt
from earnest.journal.signing import PublicKey, need_library, read_public_key
from earnest.verification.replay import Comparison
from earnest.views.agents_public import find_agent
from earnest.views.receipts import claim_draft, day_draft, run_draft

CLAIM: Final = "clm_"


def keys_of(texts: Sequence[str]) -> tuple[PublicKey, ...]:
    """Verifier keys, each given as itself or as a file that holds it. Raises `Refused("key_unreadable")`."""
    return tuple(read_public_key(_line(text)) for text in texts)


def check_file(path: Path, logs: Sequence[PublicKey], witnesses: Sequence[PublicKey]) -> CheckedReceipt:
    """Check a receipt or a checkpoint, with nothing but the keys. Raises `Refused("signing_missing")`, `OSError`.

    A checkpoint has no statement.
    """
    need_library()
    with path.open("rb") as file:
        data = file.read(RECEIPT_BYTES_MAX + 1)
    if data.startswith(b"{"):
        return check_receipt(data, logs, witnesses)
    try:
        checkpoint = read_checkpoint(data.decode())
    except ValueError as error:
        why = f"it is neither a receipt, as `earnest receipt export` writes, nor a checkpoint: {error}"
        return CheckedReceipt(flaws=(Flaw(where="file", why=why),))
    flaws = tuple(checkpoint_flaws(checkpoint, logs, witnesses))
    return CheckedReceipt(flaws=flaws, checkpoint=checkpoint, cosigned=cosigned_by(checkpoint, witnesses))


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


def receipt_here(what: str, settings: Settings) -> bytes:
    """The receipt of a claim (`clm_…`), a day (`HANDLE/YYYY-MM-DD`) or a run, by the books of the data directory.

    Raises `Refused`: `not_found`, `run_unknown`, `not_ended`, `not_sealed`, and as `log_key_here`.
    """
    notary = log_key_here(settings)
    with reading_books(settings) as books:
        return books.read_sync(lambda reader: notary.receipt(reader, _draft(reader, what)))


def log_key_here(settings: Settings) -> Notary:
    """Who signs with the log's key, made at first. Raises `Refused`: as `open_log_key`, and `no_database`."""
    with reading_books(settings) as books:
        try:
            return books.read_sync(lambda reader: read_log_key(settings.home, reader))
        except Refused as refused:
            if refused.code != "log_key_missing":
                raise
    return _writing(settings, open_log_key)


def another_log_key(settings: Settings, origin: str) -> Notary:
    """Have the log sign with another key from now on. Raises `Refused`: as `new_log_key`, and `no_database`."""
    with reading_books(settings):
        pass  # a log that has no facts has nothing to sign
    return _writing(settings, partial(new_log_key, origin=origin))


def keys_here(settings: Settings) -> tuple[PublicKey, ...]:
    """Every key that the log of the data directory signs or signed with. Raises `Refused`."""
    notary = log_key_here(settings)
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
    from earnest.app.market import market_over  # noqa: PLC0415
    from earnest.runtime.desk import Desk  # noqa: PLC0415
    from earnest.runtime.replaying import replayed_claim  # noqa: PLC0415

    clock = SystemClock()
    with contextlib.closing(Database.open(settings.books, clock)) as database:
        async with verifying(settings, clock) as verifier:
            desk = Desk(database, clock, SystemChance())
            market = market_over(desk, settings.market, verifier, artifact_store(settings))
            predicate = checked.statement["predicate"]
            assert isinstance(predicate, dict)
            return await replayed_claim(market, predicate)


def _writing(settings: Settings, take: Callable[[Path, Database, Clock, Chance], Notary]) -> Notary:
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
