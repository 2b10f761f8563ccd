"""Do probes measure real servers, files and commands, and is whatever cannot be asked unknown?"""

import asyncio
import os
import socket
import socketserver
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg
import pytest

from earnest.app.settings import read_settings
from earnest.effects.ground.clock import SystemClock
from earnest.effects.outside.probes.api import Value
from earnest.effects.outside.probes.measuring import OperatorProbes
from earnest.effects.outside.probes.spec import Expectation, read_probe
from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Faulty, Unavailable

MAILBOX = 3


class Web(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, _, body = self.path.strip("/").partition("/")
        if status == "hang":
            self.server.hanging.wait(30)  # type: ignore[attr-defined]
            return
        if body == "large":
            body = "[" + "1," * 3_000_000 + "1]"
        if body == "token":
            body = f'{{"token": "{self.headers.get("Authorization", "")}"}}'
        self.send_response(int(status))
        self.end_headers()
        self.wfile.write(body.replace("%22", '"').encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


class Mail(socketserver.StreamRequestHandler):
    """As much of IMAP4rev1 as a count takes."""

    def handle(self) -> None:
        self.wfile.write(b"* OK ready\r\n")
        for line in self.rfile:
            tag, command, *rest = line.decode().split()
            match command.upper():
                case "CAPABILITY":
                    self.wfile.write(b"* CAPABILITY IMAP4rev1\r\n")
                case "LOGIN" if "right" not in rest[1]:
                    self.wfile.write(f"{tag} NO wrong password\r\n".encode())
                    continue
                case "EXAMINE" if "INBOX" not in rest[0]:
                    self.wfile.write(f"{tag} NO no such folder\r\n".encode())
                    continue
                case "EXAMINE":
                    self.wfile.write(b"* 5 EXISTS\r\n")
                case "SEARCH":
                    found = " 1 4 5" if "UNSEEN" in rest else ""
                    self.wfile.write(f"* SEARCH{found}\r\n".encode())
                case "LOGOUT":
                    self.wfile.write(b"* BYE\r\n")
            self.wfile.write(f"{tag} OK done\r\n".encode())


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.socket.getsockname()[1]  # type: ignore[attr-defined]
    finally:
        getattr(server, "hanging", threading.Event()).set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def web() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.hanging = threading.Event()  # type: ignore[attr-defined]
    with serving(server) as port:
        yield port


@pytest.fixture(scope="module")
def mail() -> Iterator[int]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail)
    server.daemon_threads = True
    with serving(server) as port:
        yield port


async def measured(table: dict[str, JsonValue], **variables: str) -> tuple[Value, bool]:
    faults: list[str] = []
    spec = read_probe(table, faults)
    assert spec is not None, faults
    reading = await OperatorProbes({"p": spec}, SystemClock(), variables).measure("p")
    return reading.value, reading.as_expected


async def unknown(table: dict[str, JsonValue], **variables: str) -> str:
    with pytest.raises(Unavailable) as caught:
        await measured(table, **variables)
    return str(caught.value)


@pytest.mark.slow
async def test_a_file_is_as_old_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    table: dict[str, JsonValue] = {"kind": "file", "path": str(file), "at_most": 600}
    assert await measured(table) == (None, False)
    file.write_bytes(b"")
    value, fresh = await measured(table)
    assert (isinstance(value, int), fresh) == (True, True)
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert (await measured(table))[1] is False
    os.utime(file, (4_000_000_000, 4_000_000_000))
    assert "lies in the future" in await unknown(table)


@pytest.mark.slow
async def test_a_command_is_measured_by_its_end_or_its_output(tmp_path: Path) -> None:
    assert await measured({"kind": "command", "command": ["true"]}) == (0, True)
    assert await measured({"kind": "command", "command": ["false"]}) == (1, False)
    count: dict[str, JsonValue] = {"kind": "command", "measure": "stdout", "at_least": 2}
    assert await measured({**count, "command": ["echo", "3"]}) == (3, True)
    assert await measured({**count, "command": ["echo", "1.5"]}) == (1.5, False)
    assert "no number" in await unknown({**count, "command": ["echo", "many"]})
    assert "exit code 1" in await unknown({**count, "command": ["false"]})
    assert "FileNotFoundError" in await unknown({"kind": "command", "command": ["no-such-command-here"]})
    assert "more than" in await unknown({"kind": "command", "command": ["yes"]})
    assert await measured(
        {"kind": "command", "command": ["pwd"], "folder": "/", "measure": "stdout", "equals": "/"}
    ) == (
        "/",
        True,
    )


@pytest.mark.slow
async def test_a_command_that_hangs_is_unknown_and_ended_with_its_children(tmp_path: Path) -> None:
    ready = tmp_path / "child"
    script = f"sleep 300 & echo $! > {ready}; wait"
    hanging: dict[str, JsonValue] = {"kind": "command", "command": ["sh", "-c", script], "wall_s": 2}
    assert "within 2 s" in await unknown(hanging)
    async with asyncio.timeout(10):
        while is_running(int(ready.read_text())):  # a signal takes its time
            await SystemClock().sleep_ms(10)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] not in {"Z", "X"}
    except FileNotFoundError:
        return False


@pytest.mark.slow
async def test_an_address_is_measured_by_status_or_value(web: int) -> None:
    at = f"http://127.0.0.1:{web}"
    assert await measured({"kind": "http", "url": f"{at}/200/x"}) == (200, True)
    assert await measured({"kind": "http", "url": f"{at}/404/x"}) == (404, False)
    assert await measured({"kind": "http", "url": f"{at}/302/x", "equals": 302}) == (302, True)
    body: dict[str, JsonValue] = {"kind": "http", "url": f"{at}/200/{{%22a%22:[{{%22n%22:7}}]}}", "at_least": 7}
    assert await measured({**body, "json": "a[0].n"}) == (7, True)
    token: dict[str, JsonValue] = {"kind": "http", "url": f"{at}/200/token", "json": "token", "token_variable": "T"}
    assert await measured({**token, "equals": "Bearer secret"}, T="secret") == ("Bearer secret", True)
    for path in ("a[1].n", "b", "a", "a..n"):
        assert "the probe 'p'" in await unknown({**body, "json": path})


@pytest.mark.slow
@pytest.mark.parametrize("path", ["500/x", "503/x", "429/x", "hang"])
async def test_a_server_in_trouble_is_unknown(web: int, path: str) -> None:
    assert await unknown({"kind": "http", "url": f"http://127.0.0.1:{web}/{path}", "wall_s": 2})


@pytest.mark.slow
async def test_an_outage_is_unknown_and_never_zero(web: int, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound, but nobody listens
        assert await unknown({"kind": "http", "url": f"http://127.0.0.1:{port}/"})
        box: dict[str, JsonValue] = {"kind": "imap", "host": "127.0.0.1", "port": port, "user": "u"}
        assert await unknown({**box, "password_variable": "P", "tls": False, "equals": 0}, P="right")
    assert await unknown({"kind": "http", "url": "http://no-such-host.invalid/"})
    assert "200 x" not in await unknown(
        {"kind": "http", "url": f"http://127.0.0.1:{web}/200/x", "json": "a", "equals": 1}
    )
    assert "more than" in await unknown(
        {"kind": "http", "url": f"http://127.0.0.1:{web}/200/large", "json": "[0]", "equals": 1}
    )
    missing: dict[str, JsonValue] = {
        "kind": "sql",
        "url": f"sqlite:///{tmp_path}/none.db",
        "query": "SELECT 1",
        "equals": 0,
    }
    assert "no such database" in await unknown(missing)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.slow
async def test_a_database_is_only_read(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER)")
        shop.executemany("INSERT INTO orders VALUES (?)", [(1,), (2,)])
    shop.close()
    table: dict[str, JsonValue] = {"kind": "sql", "url": f"sqlite:///{file}", "at_least": 2}
    assert await measured({**table, "query": "SELECT count(*) FROM orders"}) == (2, True)
    assert await measured({**table, "query": "SELECT id FROM orders WHERE id > 5"}) == (None, False)
    assert "more than one row" in await unknown({**table, "query": "SELECT id FROM orders"})
    assert await unknown({**table, "query": "DELETE FROM orders RETURNING id"})
    assert await measured({**table, "query": "SELECT count(*) FROM orders"}) == (2, True)


@pytest.mark.slow
async def test_a_database_of_postgresql_is_only_read(postgresql_address: str) -> None:
    with psycopg.connect(postgresql_address) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, price NUMERIC)")
        shop.execute("INSERT INTO orders VALUES (1, 2.5), (2, 1.5)")
    table: dict[str, JsonValue] = {"kind": "sql", "url": postgresql_address, "at_least": 2}
    assert await measured({**table, "query": "SELECT sum(price) FROM orders"}) == (4, True)
    assert await measured({**table, "query": "SELECT id FROM orders WHERE id > 5"}) == (None, False)
    assert "more than one row" in await unknown({**table, "query": "SELECT id FROM orders"})
    assert "read-only" in await unknown({**table, "query": "DELETE FROM orders RETURNING id"})
    assert "does not exist" in await unknown({**table, "query": "SELECT id FROM orders_of_nobody"})


@pytest.mark.slow
async def test_a_query_without_end_is_unknown(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "shop.db").close()
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"
    assert "within 2 s" in await unknown(
        {"kind": "sql", "url": f"sqlite:///{tmp_path}/shop.db", "query": endless, "equals": 1, "wall_s": 2}
    )


@pytest.mark.slow
async def test_a_mailbox_is_counted(mail: int) -> None:
    table: dict[str, JsonValue] = {"kind": "imap", "host": "127.0.0.1", "port": mail, "tls": False, "user": "me"}
    table |= {"password_variable": "P", "search": "UNSEEN", "at_least": 1}
    assert await measured(table, P="right") == (MAILBOX, True)
    assert await measured({**table, "search": "SEEN"}, P="right") == (0, False)
    assert "wrong password" in await unknown(table, P="bad")
    assert "needs the environment variable P" in await unknown(table)
    assert "does not open that folder" in await unknown({**table, "folder": "Nope"}, P="right")
    assert await unknown({**table, "tls": True, "wall_s": 5}, P="right")


async def test_a_probe_that_is_not_set_up_is_unknown() -> None:
    with pytest.raises(Unavailable, match="no probe 'x'"):
        await OperatorProbes({}, SystemClock()).measure("x")


@pytest.mark.parametrize(("value", "holds"), [(None, False), (2, False), (3, True), (4.5, True), (6, False)], ids=str)
def test_an_expectation_bounds_a_number(value: Value, holds: bool) -> None:
    assert Expectation(at_least=3, at_most=5).reading(value).as_expected is holds


def test_one_is_not_true() -> None:
    assert not Expectation(equals=1).reading(True).as_expected
    assert not Expectation(equals=True).reading(1).as_expected


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({}, "kind must be one of file, command, http, sql, imap"),
        ({"kind": "file", "path": "a", "at_most": 1}, "absolute"),
        ({"kind": "file", "path": "/a"}, "give what is expected"),
        ({"kind": "command", "command": "true"}, "list of texts"),
        ({"kind": "http", "url": "ftp://a"}, "http://"),
        ({"kind": "http", "url": "http://a", "json": "x"}, "give what is expected"),
        ({"kind": "http", "url": "http://a", "at_least": True}, "must be numbers"),
        ({"kind": "http", "url": "http://a", "wall_s": 0}, "wall_s"),
        ({"kind": "sql", "url": "sqlite:///x", "equals": 1}, "'query' is missing"),
        ({"kind": "sql", "url": "mysql://h/d", "query": "SELECT 1", "equals": 1}, "sqlite:/// or postgresql://"),
        ({"kind": "imap", "host": "h", "user": "u", "password": "x", "at_least": 1}, "unknown key 'password'"),
    ],
)
def test_a_faulty_probe_is_named(table: dict[str, JsonValue], fault: str) -> None:
    faults: list[str] = []
    assert read_probe(table, faults) is None
    assert fault in "; ".join(faults)


def test_probes_are_read_from_the_settings_and_every_fault_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('[probes.up]\nkind = "http"\nurl = "http://127.0.0.1/"\n')
    probes = read_settings({"EARNEST_HOME": str(tmp_path)}).probes
    assert (list(probes), probes["up"].expectation) == (["up"], Expectation(equals=200))
    (tmp_path / "settings.toml").write_text('[probes.Up]\nkind = "http"\nurl = "x"\nextra = 1\n')
    with pytest.raises(Faulty) as caught:
        read_settings({"EARNEST_HOME": str(tmp_path)})
    assert len(caught.value.diagnostics) == 3
