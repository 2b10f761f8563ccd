"""What do twenty people cost who look on while fifty things happen a second? Prints one JSON object.

A server of its own process, whose CPU is counted, and another process that writes remarks into the books. Viewers are
asked for by this one, as a browser asks: a stream, and the page anew whenever it says that something has changed.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from pathlib import Path

import uvicorn

from earnest.accountability.agreement import Agreement
from earnest.accountability.service import AGREEMENTS
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.key import KEY_PURPOSE, Key, KeyedHash, Scope, key_text
from earnest.identity.service import ACCOUNTS, KEYS
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.world.service import REMARKS
from earnest.world.talk import Remark

VIEWERS = 20
EVENTS_PER_S = 50
MEASURED_S = 12
WARM_S = 3
HASHING = KeyedHash(bytes(range(32)))
CLOCK = SystemClock()
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
AGENTS = 20
CONTRACT = """# Heartbeat

## Tasks

- [ ] call | Call the supplier about late deliveries | required | verify: human
- [ ] tidy | File the reports of the week | required | verify: human
"""
Watching = Callable[[int, int, asyncio.Event], Coroutine[None, None, int]]
"""How one viewer looks on: at a port, as the n-th account, until the end; how much came."""


def _key(number: int) -> str:
    return key_text(Scope.AUDITOR, number.to_bytes(32, "big"))


def _people(transaction: Transaction) -> None:
    """Agents with a contract, of whom the first speaks; and as many who see all as there are viewers."""
    now_ms = CLOCK.now_ms()
    for number in range(AGENTS):
        account_id = _account(transaction, f"agent{number}", AccountKind.AGENT, now_ms)
        held = Agreement(
            account_id=account_id, text=CONTRACT, digest="sha256:0", pinned_at_ms=now_ms, pinned_by="op", possible=20
        )
        AGREEMENTS.open(transaction, now_ms, held, touching=(account_id,))
    for number in range(VIEWERS):
        account_id, text = _account(transaction, f"viewer{number}", AccountKind.AUDITOR, now_ms), _key(number)
        key = Key(
            id=f"key_{number}",
            account_id=account_id,
            scope=Scope.AUDITOR,
            prefix=text[:12],
            digest=HASHING.digest(KEY_PURPOSE, text),
            created_at_ms=now_ms,
        )
        KEYS.open(transaction, now_ms, key, touching=(account_id,))


def _account(transaction: Transaction, handle: str, kind: AccountKind, now_ms: int) -> str:
    account = Account(
        id=f"act_{handle}", handle=handle, kind=kind, status=AccountStatus.PAYOUTS_ENABLED, created_at_ms=now_ms
    )
    ACCOUNTS.open(transaction, now_ms, account, touching=(account.id,))
    return account.id


def serve(folder: Path, descriptor: int) -> None:
    """A platform without the work beside the requests."""
    database = Database.open(folder / "books.sqlite3", CLOCK)
    database.write_sync(_people)
    market = Market(
        desk=Desk(database, CLOCK, SystemChance()),
        terms=Terms(),
        verifier=Verifier(registry=Registry(), sandbox=None, clock=CLOCK),
        registry=Registry(),
        artifacts=ArtifactStore(folder / "artifacts"),
        web=Web(CLOCK),
    )
    app = create_app(market, HASHING, quotas=Quotas(read=Quota(name="read", count=10**9, window_s=1)))
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
    print(flush=True)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


def speak(folder: Path) -> None:
    """A remark each fiftieth of a second, until killed."""
    with closing(Database.open(folder / "books.sqlite3", CLOCK)) as database:
        number, begun = 0, time.monotonic()
        while True:
            number += 1
            remark = Remark(
                id=f"rem_{number}",
                account_id="act_agent0",
                reach="far",
                text="Who sums?",
                x=0,
                y=0,
                at_ms=CLOCK.now_ms(),
            )
            database.write_sync(lambda transaction, said=remark: REMARKS.open(transaction, said.at_ms, said))  # type: ignore[misc]
            time.sleep(max(0.0, begun + number / EVENTS_PER_S - time.monotonic()))


def _looking_at(page: str, stream: str) -> Watching:
    """A page that is read anew at each change."""

    async def watch(port: int, number: int, over: asyncio.Event) -> int:
        key, pages = _key(number), 0
        reader, writer = await _ask(port, stream, key)
        with suppress(asyncio.CancelledError):
            while not over.is_set():
                line = await reader.readline()
                if not line.startswith(b"data:") or over.is_set():
                    continue
                answer, asked = await _ask(port, page, key, "Connection: close\r\n")
                assert (await answer.read()).startswith(b"HTTP/1.1 200")
                asked.close()
                pages += 1
        writer.close()
        return pages

    return watch


async def _listen(port: int, number: int, over: asyncio.Event) -> int:
    """The events of the town themselves."""
    reader, writer = await _ask(port, "/api/v1/world/events", _key(number))
    events = 0
    while not over.is_set():
        events += (await reader.readline()).startswith(b"event:")
    writer.close()
    return events


async def _ask(port: int, path: str, key: str, more: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{more}\r\n".encode())
    return reader, writer


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS_PER_S


async def _measured(port: int, pid: int, watch: Watching | None) -> dict[str, float]:
    over = asyncio.Event()
    watching = [asyncio.create_task(watch(port, number, over)) for number in range(VIEWERS)] if watch else []
    await asyncio.sleep(WARM_S)
    cpu_s = _cpu_s(pid)
    await asyncio.sleep(MEASURED_S)
    cpu_s = _cpu_s(pid) - cpu_s
    over.set()
    came = sum(await asyncio.gather(*watching))
    return {"core_percent": round(100 * cpu_s / MEASURED_S, 1), "came_per_s": round(came / (WARM_S + MEASURED_S), 1)}


def main() -> None:
    if len(sys.argv) > 1:
        home = Path(sys.argv[2])
        speak(home) if sys.argv[1] == "speak" else serve(home, int(sys.argv[3]))
        return
    cases: dict[str, Watching | None] = {
        "nobody": None,
        "today": _looking_at("/", "/live"),
        "world": _looking_at("/world", "/live?town=1"),
        "events": _listen,
    }
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        program: list[str] = [sys.executable, __file__]
        serving = [*program, "serve", folder, str(listener.fileno())]
        with subprocess.Popen(serving, pass_fds=[listener.fileno()], stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()
            with subprocess.Popen([*program, "speak", folder]) as speaker:
                found = {name: asyncio.run(_measured(port, server.pid, watch)) for name, watch in cases.items()}
                speaker.kill()
            server.kill()
    most = max(one["core_percent"] for one in found.values())
    print(json.dumps({**found, "percent": most, "load": round(os.getloadavg()[0], 1)}, indent=2))


if __name__ == "__main__":
    main()
