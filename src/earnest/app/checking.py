"""Receipts and checkpoints checked anywhere, with nothing but keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.journal.notes import Cosigned, Flaw, checkpoint_flaws, cosigned_by, read_checkpoint
from earnest.journal.receipt import RECEIPT_BYTES_MAX, check_receipt
from earnest.journal.signing import PublicKey, need_library, read_public_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file that was checked. `statement` None: it is a checkpoint. `size`: of how many facts the checkpoint is."""

    flaws: tuple[Flaw, ...]
    statement: JsonObject | None
    origin: str
    size: int
    cosigned: tuple[Cosigned, ...]


def keys_of(texts: Sequence[str]) -> tuple[PublicKey, ...]:
    """Verifier keys, each given as itself or as a file that holds it. Raises `Refused("key_unreadable")`."""
    return tuple(read_public_key(_line(text)) for text in texts)


def check_file(path: Path, logs: Sequence[PublicKey], witnesses: Sequence[PublicKey]) -> Checked:
    """Check a receipt or a checkpoint, with nothing but the keys. Raises `Refused("signing_missing")`, `OSError`."""
    need_library()
    data = _content(path)
    if data.startswith(b"{"):
        found = check_receipt(data, logs, witnesses)
        checkpoint, flaws, statement = found.checkpoint, found.flaws, found.statement
    else:
        try:
            checkpoint, statement = read_checkpoint(data.decode()), None
        except ValueError as error:
            flaw = Flaw(
                where="file",
                why=f"it is neither a receipt, as `earnest receipt export` writes, nor a checkpoint: {error}",
            )
            return Checked(flaws=(flaw,), statement=None, origin="", size=0, cosigned=())
        flaws = tuple(checkpoint_flaws(checkpoint, logs, witnesses))
    return Checked(
        flaws=flaws,
        statement=statement,
        origin=checkpoint.origin if checkpoint else "",
        size=checkpoint.head.size if checkpoint else 0,
        cosigned=cosigned_by(checkpoint, witnesses) if checkpoint else (),
    )


def _content(path: Path) -> bytes:
    """What a file holds, one byte more than a receipt may have at most. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(RECEIPT_BYTES_MAX + 1)


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
