"""Since which fact has what somebody sees been the same? For views that are kept until then."""

from collections.abc import Iterable

from earnest.effects.storage.reader import Reader
from earnest.effects.storage.transaction import Transaction

_TOUCH = "INSERT INTO touches (subject, seq) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET seq = excluded.seq"


def touch(transaction: Transaction, seq: int, subjects: Iterable[str]) -> None:
    """Note that fact `seq` may have changed what each of `subjects` (an account, a category of jobs) sees."""
    for subject in subjects:
        transaction.execute(_TOUCH, (subject, seq))


def touched(reader: Reader, *subjects: str) -> int:
    """The newest fact that touched one of `subjects`; 0 if none has."""
    marks = ", ".join("?" * len(subjects))
    (seq,) = reader.execute(f"SELECT max(seq) FROM touches WHERE subject IN ({marks})", subjects).fetchone()  # noqa: S608
    return int(seq or 0)
