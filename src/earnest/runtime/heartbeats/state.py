"""What a runner must know after a kill: its pace, and the turn under way with the key that it is sent under."""

import json
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from earnest.client.heartbeat import HeartbeatState, load_state, save_state
from earnest.client.payloads_scores import Heartbeat
from earnest.client.private_file import write_private
from earnest.effects.ground.storage.lock import writer_lock
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused

TURN_FILE: Final = "heartbeat-turn.json"
LOCK_FILE: Final = "heartbeat.lock"
TURNS: Final = "turns"
FILE_BYTES_MAX: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatTurn:
    """Work that was done and is being handed in. `key`: its Idempotency-Key. `folder`: where its artifacts lie.

    `body` is what is sent, the same each time; `heartbeat_id` is empty until the platform has taken it.
    """

    key: str
    at_ms: int
    folder: str
    body: JsonObject
    heartbeat_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTurns:
    """`turn`: the one under way. `last`: what the one before came to. `failures`: of the program, in a row."""

    turn: HeartbeatTurn | None = None
    last: Heartbeat | None = None
    failures: int = 0


class RunnerState:
    """The files of one runner in an agent's folder, beside its credentials. One runner has them at a time."""

    def __init__(self, folder: Path) -> None:
        """Raises `Refused`: `data_directory_in_use` for a second runner, `heartbeat_state_damaged`."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._lock = writer_lock(folder / LOCK_FILE)
        try:
            self.pace = load_state(folder)
            self.kept = _load(folder / TURN_FILE)
        except BaseException:
            self._lock.close()
            raise

    def keep_pace(self, pace: HeartbeatState) -> None:
        """Save the seed's state file."""
        save_state(self._folder, pace)
        self.pace = pace

    def keep(self, **changes: Any) -> None:
        """Save `turn`, `last` or `failures`; on the disk when this returns."""
        after = replace(self.kept, **changes)
        write_private(self._folder / TURN_FILE, f"{json.dumps(asdict(after))}\n")
        self.kept = after

    def fresh_folder(self, key: str) -> Path:
        """An empty folder for a turn; those of turns before it go."""
        with suppress(RecursionError):  # whatever a program has built there
            shutil.rmtree(self._folder / TURNS, ignore_errors=True)
        folder = self._folder / TURNS / key
        folder.mkdir(mode=0o700, parents=True)
        return folder

    def release(self) -> None:
        """Let another runner have them."""
        self._lock.close()


def wake_runner(folder: Path) -> int:
    """Have the runner that works on these files look at once; its pid. Raises `Refused("heartbeat_not_running")`."""
    try:
        lock = writer_lock(folder / LOCK_FILE)
    except Refused:
        pid = int((folder / LOCK_FILE).read_text(encoding="ascii"))
        os.kill(pid, signal.SIGUSR1)
        return pid
    except FileNotFoundError:
        pass
    else:
        lock.close()
    raise Refused("heartbeat_not_running", f"no runner works on {folder}: `earnest heartbeat run`")


def _load(path: Path) -> KeptTurns:
    try:
        with path.open("rb") as file:
            return _kept(json.loads(file.read(FILE_BYTES_MAX)))
    except FileNotFoundError:
        return KeptTurns()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused("heartbeat_state_damaged", f"{path} is no turn of a heartbeat: {error}") from None


def _kept(found: dict[str, Any]) -> KeptTurns:
    turn, last, failures = found["turn"], found["last"], found["failures"]
    if not (isinstance(last, dict | None) and type(failures) is int and failures >= 0):
        raise ValueError("a member is none")
    return KeptTurns(turn=None if turn is None else _turn(turn), last=last, failures=failures)  # type: ignore[arg-type]


def _turn(found: dict[str, Any]) -> HeartbeatTurn:
    turn = HeartbeatTurn(**found)
    texts = (turn.key, turn.folder, turn.heartbeat_id)
    if not (all(isinstance(text, str) for text in texts) and turn.key and turn.key.isalnum()):
        raise ValueError("its turn has no key")
    if not (type(turn.at_ms) is int and isinstance(turn.body, dict) and isinstance(turn.body["artifacts"], list)):
        raise ValueError("its turn has no body")
    return turn
