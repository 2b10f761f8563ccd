"""The agent's HEARTBEAT.md as it is now, and whether somebody has changed it."""

from dataclasses import dataclass
from pathlib import Path

from earnest.accountability.agreement import CONTRACT_BYTES_MAX
from earnest.client.payloads_scores import TaskAsked
from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import HeartbeatContract
from earnest.effects.ground.process import ProgramFailed
from earnest.effects.ground.text_file import read_text_file
from earnest.foundation.errors import Faulty, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownContract:
    """`text` as it is handed in."""

    text: str
    contract: HeartbeatContract


@dataclass(frozen=True, slots=True)
class ContractFile:
    """One file, read anew each time."""

    path: Path

    def read(self) -> ShownContract | None:
        """What it says; None where there is none. Raises `ProgramFailed` for what cannot be read."""
        try:
            data = read_text_file(self.path, CONTRACT_BYTES_MAX)
            if len(data) > CONTRACT_BYTES_MAX:
                raise ProgramFailed(f"{self.path} has more than {CONTRACT_BYTES_MAX} bytes")
            contract = parse_heartbeat(data, str(self.path))
        except FileNotFoundError:
            return None
        except (Faulty, Refused, OSError) as error:
            raise ProgramFailed(f"{self.path} cannot be read: {error}") from None
        return ShownContract(text=data.decode(), contract=contract)

    def stamp(self) -> tuple[int, ...]:
        """Another one after a change."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino


def first_tasks(shown: ShownContract | None) -> tuple[TaskAsked, ...]:
    """What an agent is asked for that has shown no contract yet: all of it."""
    return tuple(
        TaskAsked(
            id=task.id,
            description=task.description,
            verify=task.verify,
            required=task.required,
            forced=False,
            accepted=False,
            structured=task.is_structured,
            weakened=None,
            attempt=1,
            max_attempts=task.max_attempts,
        )
        for task in (shown.contract.tasks if shown else ())
    )


def shortest_every_ms(shown: ShownContract | None) -> int | None:
    """How often the most frequent task is due that has a pace of its own."""
    return min((task.every_s * 1_000 for task in (shown.contract.tasks if shown else ()) if task.every_s), default=None)
