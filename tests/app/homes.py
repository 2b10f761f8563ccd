"""Data directories for tests of operators, with facts, heads, an audit log, artifacts, runs and a secret."""

import asyncio
import hashlib
from contextlib import closing
from pathlib import Path

from earnest.app import places
from earnest.app.platform import open_auditor
from earnest.app.secrets_file import open_key_store
from earnest.app.settings import read_settings
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.engine.facts import FINISHED, STARTED
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.service import ACCOUNTS
from earnest.journal.heads import Witness
from earnest.journal.service import Sealer
from earnest.market.claims.evidence import Artifact, artifact_id
from earnest.market.service import ARTIFACTS
from earnest.runtime.tree_heads import announcing

DAY_MS = 86_400_000
OWNER = "act_1"
"""Of the artifacts."""


def live_in(home: Path, *, runs: int = 2, clock: VirtualClock | None = None) -> None:
    """Add `runs` runs with files, the last without an end; an artifact; and seal it all while the auditor looks on."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    asyncio.run(_live(home, runs, clock or VirtualClock()))


async def _live(home: Path, runs: int, clock: VirtualClock) -> None:
    settings = read_settings({"EARNEST_HOME": str(home)})
    bus = Bus()
    with closing(Database.open(places.books(home), clock)) as database:
        open_key_store(home, database, clock, SeededChance(1))
        with closing(open_auditor(settings, bus, clock, lambda _: None)) as auditor:

            def witness() -> Witness | None:
                end = auditor.durable()
                return Witness(lines=end.lines, head=end.head) if end else None

            sealer = Sealer(database, clock, announcing(bus, clock), witness)
            begun = database.last_seq
            for number in range(runs):
                run_id = f"run_{begun:04d}{number:04d}"
                _work(home / "runs" / run_id, number)
                _record(database, clock, STARTED, run_id)
                if number < runs - 1:
                    _record(database, clock, FINISHED, run_id)
                await sealer.seal()
            stored = await ArtifactStore(places.artifacts(home)).put(f"content {begun}".encode() * 100)
            brought = Artifact(
                id=artifact_id(OWNER, stored.sha256),
                account_id=OWNER,
                sha256=stored.sha256,
                size_bytes=stored.size_bytes,
                brought_bytes=stored.size_bytes,
                media_type="text/plain",
                kept_at_ms=clock.now_ms(),
            )
            await database.write(lambda transaction: ARTIFACTS.open(transaction, clock.now_ms(), brought))
            await sealer.seal()


def _work(folder: Path, number: int) -> None:
    (folder / "workspace" / "inner").mkdir(parents=True)
    (folder / "workspace" / "result.txt").write_text(f"result {number}\n" * 50)
    (folder / "workspace" / "inner" / "link").symlink_to("../result.txt")
    (folder / "workspace" / "program").write_text("#!/bin/sh\n")
    (folder / "workspace" / "program").chmod(0o755)
    (folder / "stages").mkdir()


def _record(database: Database, clock: VirtualClock, kind: str, run_id: str) -> None:
    started: JsonObject = {"digest": f"sha256:{run_id}", "source": "test", "playbook": {"intent": "a test"}}
    body = started if kind == STARTED else {}
    fact = Fact(kind=kind, subject=run_id, at_ms=clock.now_ms(), body=body)
    database.write_sync(lambda transaction: transaction.record(fact))


def listing(folder: Path) -> dict[str, str]:
    """Everything below a folder but SQLite's own files: mode and digest, or target, by path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.endswith(("-wal", "-shm")) or name.startswith("books.sqlite3"):
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = f"{path.stat().st_mode & 0o777:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        else:
            found[name] = "folder"
    return found


def open_account(home: Path, description: str = "") -> None:
    """Of whoever brought the artifacts."""
    account = Account(
        id=OWNER,
        handle="ann",
        kind=AccountKind.AGENT,
        status=AccountStatus.PAYOUTS_ENABLED,
        created_at_ms=0,
        description=description,
    )
    with closing(Database.open(places.books(home), VirtualClock())) as books:
        books.write_sync(lambda transaction: ACCOUNTS.open(transaction, 0, account, touching=(OWNER,)))
