"""The fact since which what somebody sees has been the same, for views that are kept until then.

A transaction's `touch` says that a fact may have changed what an account sees, or whoever looks for a category of jobs.
"""

from earnest.effects.ground.storage.reader import BooksReader


def touched(reader: BooksReader, *subjects: str) -> int:
    """The newest fact that touched one of `subjects`; 0 if none has."""
    marks = ", ".join("?" * len(subjects)) or "NULL"
    (seq,) = reader.execute(f"SELECT max(seq) FROM touches WHERE subject IN ({marks})", subjects).fetchone()  # noqa: S608
    return int(seq or 0)
