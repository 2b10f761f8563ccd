"""A process that works an operator's stories in children, each of which may be killed, or fail, at its n-th boundary.

Run as a script. A line of JSON on stdin is a story; a line of JSON on stdout says how it ended. A boundary is whatever
the interpreter tells its audit hooks about files, every sync, and every statement to the books.
"""

import errno
import itertools
import json
import os
import signal
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from earnest.app import places
from earnest.app.artifacts import shelf_in
from earnest.app.backup import BackupOrder, back_up
from earnest.app.export import export
from earnest.app.log_key import new_log_key, open_log_key
from earnest.app.moving import go_back, go_on, move_books
from earnest.app.restore import BackupSource, restore
from earnest.app.settings import read_settings
from earnest.app.sweeping import sweep
from earnest.audit.event import Note
from earnest.audit.log import AuditLog
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage import rows
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.filling import Filling
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.postgresql_session import PostgresqlSession
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import EarnestError
from earnest.runtime.forgetting import forget
from earnest.runtime.sweeping import Retention, Sweep
from earnest.runtime.verdict_book import VerdictBook

EVENTS = {f"os.{name}" for name in ("rename", "remove", "mkdir", "rmdir", "chmod", "utime", "link", "symlink")}
EVENTS.add("sqlite3.connect")
FAILED = 3
OWNER = "act_1"
"""Of the artifacts that tests' data directories hold."""


def backup(folder: Path) -> None:
    back_up(BackupOrder(home=folder / "home", target=folder / "backup", keys=folder / "keys", share=100), SystemClock())


def restored(folder: Path) -> None:
    restore(BackupSource(folder=folder / "backup", keys=folder / "keys"), folder / "again", SystemClock())


def gc(folder: Path) -> None:
    home = folder / "home"
    books = ReadPool.open_reader(books_in(folder))
    retention = Retention(runs_days=0, stages_days=0, verdicts_days=0)
    Sweep(home=home, retention=retention, verdicts=VerdictBook(home / "verdicts", 1_000)).run(books, 2**47)
    books.close()


def migrated(folder: Path) -> None:
    go_on(places.books(folder / "home"))


def put_back(folder: Path) -> None:
    go_back(places.books(folder / "home"), lose_facts=False)


def turned(folder: Path) -> None:
    """The audit log is written on, in files that are soon full."""
    log = AuditLog.open(places.audit_log(folder / "home"), 0, file_bytes=600)
    for _ in range(12):
        log.note(Note.WINDOW, 1, {"silence_ms": 1})
    log.close()


def shed(folder: Path) -> None:
    settings = read_settings({"EARNEST_HOME": str(folder / "home")})
    sweep(replace(settings, audit_days=0, artifacts_days=0), dry=False)


def forgotten(folder: Path) -> None:
    with closing(Database.open(books_in(folder), SystemClock())) as books:
        books.write_sync(lambda transaction: forget(transaction, OWNER, 0))


def keyed(folder: Path) -> None:
    """The log takes its first key, then another."""
    with closing(Database.open(places.books(folder / "home"), SystemClock())) as books:
        for take in (open_log_key, new_log_key):
            take(folder / "home", books, SystemClock(), SystemChance())


def moved(folder: Path) -> None:
    move_books(places.books(folder / "home"), server_of(folder), SystemClock())


def returned(folder: Path) -> None:
    move_books(server_of(folder), places.books(folder / "home"), SystemClock())


def saved(folder: Path) -> None:
    """A backup of books on a server."""
    home, target = folder / "home", folder / "backup"
    order = BackupOrder(home=home, server=server_of(folder), target=target, keys=folder / "keys", share=100)
    back_up(order, SystemClock())


def settled(folder: Path) -> None:
    """A backup restored to a server."""
    target = ServerBooks(server_of(folder).address, folder / "again")
    source = BackupSource(folder=folder / "backup", keys=folder / "keys")
    restore(source, folder / "again", SystemClock(), server=target)


def server_of(folder: Path) -> ServerBooks:
    return ServerBooks((folder / "address").read_text(), folder / "home")


def books_in(folder: Path) -> Books:
    """Those of the data directory there, on a server where no file holds them."""
    file = places.books(folder / "home")
    return file if file.exists() else server_of(folder)


def exported(folder: Path) -> None:
    with closing(ReadPool.open_reader(books_in(folder))) as books:
        export(books, shelf_in(folder / "home", {}), OWNER, folder / "out", 0)


STORIES = {
    "backup": backup,
    "restore": restored,
    "gc": gc,
    "migrate": migrated,
    "back": put_back,
    "turn": turned,
    "shed": shed,
    "forget": forgotten,
    "export": exported,
    "key": keyed,
    "move": moved,
    "return": returned,
    "save": saved,
    "settle": settled,
}


class Boundaries:
    """Counts what a crash could come between; at the `at`-th it comes, before it is done."""

    def __init__(self, folder: str, at: int, fault: str) -> None:
        self.passed = 0
        self._folder = folder
        self._at = at
        self._fault = fault
        self._numbers = itertools.count(1)

    def watch(self) -> None:
        sys.addaudithook(self._hear)
        for name in ("fsync", "sync"):
            setattr(os, name, self._before(getattr(os, name)))
        for kind, name in (
            (BooksReader, "execute"),
            (Transaction, "execute"),
            (rows, "_changed"),
            (PostgresqlSession, "send"),
            (Filling, "_group"),
            (Filling, "_insert"),
        ):
            setattr(kind, name, self._before(getattr(kind, name)))

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if event in EVENTS or (event == "open" and str(given[0]).startswith(self._folder)):
            self._cross()

    def _before(self, real: Any) -> Any:
        def watched(*given: Any) -> Any:
            self._cross()
            return real(*given)

        return watched

    def _cross(self) -> None:
        self.passed = next(self._numbers)
        if self.passed == self._at:
            if self._fault == "SIGKILL":
                os.kill(os.getpid(), signal.SIGKILL)
            number = getattr(errno, self._fault)
            raise OSError(number, os.strerror(number))


def live(told: dict[str, Any], out: int) -> int:
    """The child: works the story, says how many boundaries it passed; its exit code."""
    boundaries = Boundaries(told["folder"], told["at"], told["fault"])
    boundaries.watch()
    try:
        STORIES[told["story"]](Path(told["folder"]))
    except (EarnestError, OSError) as error:
        os.write(out, str(error).encode())
        return FAILED
    os.write(out, b"%d" % boundaries.passed)
    return 0


def main() -> None:
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os._exit(live(json.loads(line), writing))
            except BaseException as error:
                os.write(writing, repr(error).encode())
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "said": said}), flush=True)


if __name__ == "__main__":
    main()
