"""What a tool is, and where a call takes place."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from earnest.effects.hands.sandbox.api import ExecutionLimits, HearOutput, Mount, Sandbox
from earnest.effects.hands.tools.arguments import normal_path
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.effects.hands.workspace.stage import Stage
from earnest.foundation.canonical import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlace:
    """Where a call acts. `folder` is /work: a stage's, or, for a tool that only reads, the workspace itself.

    `inputs` are shown below /work, read-only; their targets are reserved paths of the workspace. Of `limits` the
    call's own timeout replaces wall and CPU time. `writable` is what the call was given leave to write to beyond /work,
    resolved; it is shown at its own path. `home` is the user's, which `~` means to a command, read-only. `hear`
    hears what a command puts out while it runs.
    """

    folder: Path
    sandbox: Sandbox
    stage: Stage | None = None
    inputs: tuple[Mount, ...] = ()
    writable: tuple[Path, ...] = ()
    home: Path | None = None
    limits: ExecutionLimits = field(default_factory=ExecutionLimits)
    hear: HearOutput | None = None

    def root_of(self, path: str) -> tuple[Path, str, bool]:
        """The folder or file of the host that holds a path below /work, the path in it, and whether it is an input."""
        for mount in self.inputs:
            target = normal_path(mount.target)
            if path == target or path.startswith(target + "/"):
                return mount.source, path[len(target) + 1 :], True
        return self.folder, path, False


class Leave(StrEnum):
    """What every call of a tool needs leave for, beside what the call itself asks for (Law 1)."""

    NONE = "none"
    NETWORK = "network"
    """It reads the public web; granted for a run or confirmed."""
    OUTSIDE = "outside"
    """It acts outside the sandbox, with the user's own rights; confirmed for each call alone."""


class Tool(Protocol):
    """One tool. Only `run` has effects; the rest is pure. `tool_ids` and `target` need arguments without faults."""

    name: str
    """As calls give it."""
    version: str = "1"
    """Changes whenever the same call may do something else."""
    reads_only: bool
    """True if no call ever changes anything, so that a call of unknown outcome may simply run again."""
    leave: Leave
    purpose: str
    """What it is good for, told to models. Not to be trusted where others wrote it."""
    args_schema: JsonObject
    """The JSON Schema of its arguments, told to models; `args_faults` is what decides."""

    def args_faults(self, args: JsonObject, /) -> list[str]:
        """What is wrong with these arguments, all of it, in words; empty if nothing is."""

    def tool_ids(self, _args: JsonObject, /) -> frozenset[str]:
        """What is used: the tool's name, unless its calls name programs (`shell:<program>`)."""
        return frozenset({self.name})

    def target(self, args: JsonObject, /) -> str:
        """What is touched, so that two spellings of the same thing are equal."""

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """Do it. Gives what went wrong as a failure; raises only for a fault of the tool itself."""


class ToolSource(Protocol):
    """A program that brings tools, which are not known before it runs."""

    async def tools(self) -> tuple[Tool, ...]:
        """Start it, unless it runs, and give its tools. Raises `Unavailable`."""

    async def close(self) -> None:
        """End it, if it runs."""
