"""What any test may ask for: how property tests run, and books on either engine; and what none pays for twice."""

import asyncio
import gc
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import postgresql
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage import postgresql_session, schema, sqlite
from earnest.effects.ground.storage.driver import connect_writer
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.postgresql import PostgresqlWriting
from earnest.effects.hands.sandbox import provider
from earnest.effects.hands.sandbox.api import SELF_TEST_VALID_MS, SandboxSettings, SelfTest
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.kept import FILE_NAME, KeptTest

# On a busy machine as on an idle one: nothing fails because it took long.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
PATIENCE_MS = 60_000

# A shell may have its jobs ignore these, and whoever is started ignores them likewise. What is handled here is not
# handled there, but does again what it does by default.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

gc.disable()  # as long as tests are collected: nothing of that is garbage


def pytest_collection_finish() -> None:
    """Garbage is collected again, but what was imported is not looked through each time, which takes half a second."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _books_that_begin_quickly() -> Iterator[None]:
    """Books in files are not synced: no test takes the power away, and a killed process loses nothing.

    Their tables are made once by each script; empty books after that are copies, page by page.
    """
    run, made = schema._run, dict[str, sqlite3.Connection]()

    def run_once(connection: sqlite3.Connection, script: str) -> None:
        if schema.revision_of(connection) is not None:
            run(connection, script)
            return
        if script not in made:
            made[script] = sqlite3.connect(":memory:", check_same_thread=False)
            run(made[script], script)
        made[script].backup(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "connect_writer", lambda path, **_: connect_writer(path, is_durable=False))
        patch.setattr(schema, "_run", run_once)
        yield
    for connection in made.values():
        connection.close()


@pytest.fixture(scope="session", autouse=True)
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A sandbox in a new data directory believes the self-test of one before it in this process."""
    remembered = tmp_path_factory.mktemp("self-test")

    class Remembering(KeptTest):
        """Kept as always, and in one place for all."""

        def read(self, now_ms: int) -> SelfTest | None:
            return super().read(now_ms) or KeptTest.read(replace(self, folder=remembered), now_ms)

        def write(self, test: SelfTest) -> None:
            super().write(test)
            KeptTest.write(replace(self, folder=remembered), test)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provider, "KeptTest", Remembering)
        yield remembered


@pytest.fixture(scope="session")
def self_tested(remembered: Path) -> Callable[[Path], Path]:
    """Make a data directory, for programs that a test starts, in which that self-test is kept."""

    async def remember() -> None:
        sandbox = await open_sandbox(SandboxSettings(pool=0, kept=remembered), SystemClock())
        await sandbox.self_test(SELF_TEST_VALID_MS)
        await sandbox.close()

    def make(home: Path) -> Path:
        if not (remembered / FILE_NAME).exists():
            asyncio.run(remember())
        home.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # where there is no sandbox
            shutil.copy(remembered / FILE_NAME, home)
        return home

    return make


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a server of PostgreSQL."""
    with postgresql.server() as address, pytest.MonkeyPatch.context() as patch:
        # Within a turn this process may have to wait for the machine: the server gives up others, which are stopped.
        patch.setattr(postgresql_session.connect, "__defaults__", (PATIENCE_MS,))
        patch.setattr(PostgresqlWriting.__init__, "__defaults__", (PATIENCE_MS,))
        yield address


@pytest.fixture
def postgresql_address(postgresql_server: str) -> Iterator[str]:
    """The address of an empty database."""
    with postgresql.database(postgresql_server) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Books:
    """Where books may lie that nobody has begun: a file, then a database of a server."""
    if request.param == "sqlite":
        return tmp_path / "books.sqlite3"
    return ServerBooks(request.getfixturevalue("postgresql_address"), tmp_path)
