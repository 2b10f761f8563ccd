"""The parts of a heartbeat runner: platform, program, files, and pins of what an operator accepted."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.accountability.gate import hours_of
from earnest.app import places
from earnest.app.command_words import words_of
from earnest.client.client import AsyncClient
from earnest.client.credentials import Credentials, agent_folder
from earnest.client.retrying import Patience
from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.text_file import read_text_file, rewrite_text_file
from earnest.foundation.errors import Refused
from earnest.foundation.zones import is_time, is_zone
from earnest.runtime.heartbeats.command import CommandProgram, without_keys
from earnest.runtime.heartbeats.contract_file import ContractFile
from earnest.runtime.heartbeats.platform import PlatformOverHttp
from earnest.runtime.heartbeats.runner import ActiveHours, HeartbeatRunner
from earnest.runtime.heartbeats.state import RunnerState, wake_runner

PATIENCE: Final = Patience(attempts=3, wait_max_ms=5_000)
"""Whatever takes longer is the runner's to wait for, and to show."""

PINS_FOLDER = "pins"


def pinned_text(home: Path, file: Path) -> bytes:
    """The file as it was accepted. Raises `Refused("heartbeat_unpinned")`."""
    try:
        return read_text_file(_pin(home, file), TEXT_BYTES_MAX)
    except FileNotFoundError:
        raise Refused("heartbeat_unpinned", f"nothing is pinned for {file}: `earnest heartbeat pin`") from None


def pin_text(home: Path, file: Path, text: bytes) -> None:
    """Keep the file as it is now."""
    path = _pin(home, file)
    places.make(home)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    rewrite_text_file(path, TEXT_BYTES_MAX, lambda _: text)


def _pin(home: Path, file: Path) -> Path:
    """One for each path: a copy of a workspace has pins of its own."""
    place = file.parent.resolve() / file.name
    return home / PINS_FOLDER / f"{hashlib.sha256(bytes(place)).hexdigest()[:32]}.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What a runner is told. `command` is split as a shell would split it. `file`: the HEARTBEAT.md.

    `hours`: `HH:MM-HH:MM` in `zone`, or empty. `passes_key`: the program gets the platform's address and the key.
    """

    command: str
    file: Path
    timeout_s: int
    hours: str = ""
    zone: str = "UTC"
    passes_key: bool = False


@asynccontextmanager
async def opened_runner(home: Path, credentials: Credentials, running: Running) -> AsyncIterator[HeartbeatRunner]:
    """A runner with its files locked. Raises `Refused`: `validation`, and as `RunnerState` does."""
    words, active = words_of(running.command, named="--exec"), _active(running)
    async with AsyncClient(credentials.url, credentials.key, patience=PATIENCE) as client:
        state = RunnerState(await _folder(home, credentials, client))
        try:
            environment = environment_for(credentials, passes_key=running.passes_key)
            program = CommandProgram(words=words, environment=environment, timeout_s=running.timeout_s)
            yield HeartbeatRunner(
                PlatformOverHttp(client),
                program,
                state,
                ContractFile(running.file),
                clock=SystemClock(),
                chance=SystemChance(),
                active=active,
            )
        finally:
            state.release()


async def wake(home: Path, credentials: Credentials) -> int:
    """Have an agent's runner on this machine look at once; its pid. Raises as `wake_runner` does."""
    async with AsyncClient(credentials.url, credentials.key, patience=PATIENCE) as client:
        return wake_runner(await _folder(home, credentials, client))


async def _folder(home: Path, credentials: Credentials, client: AsyncClient) -> Path:
    """Where the agent's state lies; whose a mere key is, the platform says."""
    return agent_folder(home, credentials.handle or (await client.get_me())["handle"])


def environment_for(credentials: Credentials, *, passes_key: bool) -> dict[str, str]:
    """What an agent's program sees of ours; `passes_key`: the platform's address and the key, too."""
    environment = without_keys(os.environ)
    if passes_key:
        environment |= {"EARNEST_URL": credentials.url, "EARNEST_KEY": credentials.key}
    return environment


def _active(running: Running) -> ActiveHours:
    if not is_zone(running.zone):
        raise Refused("validation", f"{running.zone[:80]!r} is no IANA time zone")
    if not running.hours:
        return ActiveHours(zone=running.zone)
    begin, _, end = running.hours.partition("-")
    if not (is_time(begin) and is_time(end)):
        raise Refused("validation", f"active hours are like 08:00-22:00, not {running.hours[:80]!r}")
    return replace(ActiveHours(zone=running.zone), hours=hours_of(begin, end))
