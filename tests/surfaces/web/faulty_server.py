"""`earnest`, in which one commit of the books meets a fault: a signal to itself, or a disk that fails, before or after.

`FAULT` is its name, the commit's number, how many commits in a row it lasts, and `before` or `after`; `FAULTED` is
made when it comes.
"""

import os
import signal
import sqlite3
from itertools import count
from pathlib import Path
from typing import Any

from earnest.effects.ground.storage.database import GroupWriter
from earnest.effects.ground.storage.sqlite import SqliteWriting
from earnest.surfaces.cli.main import main

NAME, NUMBER, LASTS, MOMENT = os.environ["FAULT"].split()
CODES = {"EIO": sqlite3.SQLITE_IOERR_FSYNC, "ENOSPC": sqlite3.SQLITE_FULL}
SPOILT = range(int(NUMBER), int(NUMBER) + int(LASTS))
begin = GroupWriter.__init__


class Faulty:
    """A connection that fails at some commits."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver
        self._numbers = count(1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def commit(self) -> None:
        is_spoilt = next(self._numbers) in SPOILT
        if is_spoilt and MOMENT == "before":
            self._fail()
        self._driver.commit()
        if is_spoilt and MOMENT == "after":
            self._fail()

    def _fail(self) -> None:
        Path(os.environ["FAULTED"]).touch()
        if NAME not in CODES:
            os.kill(os.getpid(), getattr(signal, NAME))
            return
        error = sqlite3.OperationalError(NAME)
        error.sqlite_errorcode = CODES[NAME]
        raise error


def begin_faulty(self: GroupWriter, writing: SqliteWriting, *rest: Any) -> None:
    faulty: Any = Faulty(writing.session)
    writing.session, writing.rollback = faulty, faulty.rollback
    begin(self, writing, *rest)


GroupWriter.__init__ = begin_faulty  # type: ignore[method-assign, assignment]
main()
