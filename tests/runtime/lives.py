"""What did a run do, whoever killed it on the way? A world of its own for each run, and what is left in it."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from earnest.app import places
from earnest.audit.journal_check import check_audit_log, check_journal
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import ReadPool
from earnest.engine.facts import FINISHED, INTENT, MESSAGES, OUTCOME, STARTED
from earnest.foundation.errors import Refused
from earnest.memory.service import open_memory_reader

MORTAL = Path(__file__).with_name("mortal.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a life ended. `code` is negative after a signal; `ms` is its length; `passed` its boundaries."""

    code: int
    ms: int
    passed: int
    output: str

    @property
    def result(self) -> dict[str, Any]:
        return dict(json.loads(self.output.splitlines()[0]))

    @property
    def was_killed(self) -> bool:
        return self.code == -9


@dataclass(slots=True)
class Nursery:
    """The process whose children live. One for many worlds. `make` makes the data directory of each."""

    make: Callable[[Path], Path]
    _process: "subprocess.Popen[str]" = field(
        default_factory=lambda: subprocess.Popen(
            [sys.executable, str(MORTAL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    )

    def live(
        self,
        arguments: list[str],
        home: Path,
        *,
        kill_at: int = 0,
        kill_after_ms: int = -1,
        kill_when: Path | None = None,
        fault: str = "SIGKILL",
    ) -> Ending:
        """`fault` is what comes at the boundary `kill_at`: a signal to itself, or an errno of what is done there.

        Once there is a file `kill_when`, the child is killed.
        """
        if not home.exists():
            self.make(home)
        life = {
            "fault": fault,
            "kill_when": str(kill_when or ""),
            "arguments": arguments,
            "home": str(home),
            "kill_at": kill_at,
            "kill_after_ms": kill_after_ms,
            "output": str(home.parent / "output"),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(life) + "\n")
        self._process.stdin.flush()
        return Ending(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A data directory, a playbook, and a folder outside of every workspace in which its effects are counted."""

    folder: Path
    nursery: Nursery

    @classmethod
    def made(cls, folder: Path, playbook: str, nursery: Nursery) -> "World":
        outside = folder / "outside"
        outside.mkdir(parents=True)
        (folder / "playbook.yaml").write_text(playbook.replace("OUTSIDE", str(outside)))
        return cls(folder=folder, nursery=nursery)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def run(self, *more: str, **killing: Any) -> Ending:
        """`earnest run PLAYBOOK`: the first time, or again."""
        arguments = ["run", str(self.folder / "playbook.yaml"), "--json"]
        arguments += ["--allow-write", str(self.folder / "outside"), *more]
        return self.nursery.live(arguments, self.home, **killing)

    def catch_up(self) -> None:
        """Any command that opens the data directory for writing; here one that changes nothing."""
        self.nursery.live(["memory", "forget", "nothing"], self.home)

    def resume(self, run_id: str, *more: str, **killing: Any) -> Ending:
        """`earnest resume RUN`."""
        return self.nursery.live(["resume", run_id, "--json", *more], self.home, **killing)

    def started(self) -> list[str]:
        """The runs that the books know of."""
        return [fact.subject for fact in self.facts() if fact.kind == STARTED]

    def facts(self) -> list[StoredFact]:
        """The whole journal; empty before there are books, or while their tables are still to be made."""
        try:
            with closing(ReadPool.open_reader(places.books(self.home))) as books:
                return books.read_sync(lambda reader: list(reader.facts()))
        except Refused as refusal:
            if refusal.code in {"no_database", "database_too_old"}:
                return []
            raise

    def has_ended(self, run_id: str) -> bool:
        """True if the run's end is durable."""
        return any(fact.kind == FINISHED and fact.subject == run_id for fact in self.facts())

    def left_behind(self, run_id: str) -> dict[str, object]:
        """All that a run leaves, without what differs between any two runs: ids, times, and how often it was resumed.

        Every key and id stands as often as it was recorded, so that a repeated effect or message shows.
        """
        facts = [fact for fact in self.facts() if fact.subject == run_id]
        ids = [str(fact.body["id"]).removeprefix(run_id) for fact in facts if fact.kind in MESSAGES]
        return {
            "intents": sorted(str(fact.body["key"]) for fact in facts if fact.kind == INTENT),
            "outcomes": sorted(str(fact.body["key"]) for fact in facts if fact.kind == OUTCOME),
            "messages": sorted(one for one in ids if not one.startswith("/resumed/")),
            "results": [_timeless(fact.body["result"]) for fact in facts if fact.kind == FINISHED],
            "files": self._files(run_id),
            "remembered": self._remembered(),
        }

    def _files(self, run_id: str) -> dict[str, str]:
        roots = (self.home / "runs" / run_id / "workspace", self.folder / "outside")
        return {
            f"{root.name}/{path.relative_to(root)}": path.read_text()
            for root in roots
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }

    def _remembered(self) -> list[tuple[object, ...]]:
        memory = open_memory_reader(places.memory(self.home))
        try:
            return sorted((m.space, m.entity, m.level, m.state, m.content) for m in memory.entries())
        finally:
            memory.close()

    def faults(self) -> list[str]:
        """What is wrong with the journal or with the auditor's log."""
        books, log = places.books(self.home), places.audit_log(self.home)
        found = [f"journal: {finding.what} {finding.detail}" for finding in check_journal(books, log).findings]
        return [*found, *check_audit_log(log, books).findings]


def _timeless(result: Any) -> dict[str, object]:
    timed = {"elapsed_ms", "loss", "loss_gradient"}
    return {name: value for name, value in result.items() if name not in timed}
