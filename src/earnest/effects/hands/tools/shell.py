"""The tool that runs a command line in the sandbox."""

from dataclasses import replace
from pathlib import Path
from signal import SIGPIPE
from typing import Final

from earnest.effects.hands.sandbox.api import Execution, ExecutionLimits, Mount, Profile
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import text, text_faults, texts_schema
from earnest.effects.hands.tools.failures import of_report
from earnest.effects.hands.tools.parts import CallParts, recorded
from earnest.effects.hands.tools.programs import shell_programs
from earnest.effects.hands.tools.record import RawResult, ToolCall, raw_of
from earnest.foundation.canonical import JsonObject

COMMAND_BYTES_MAX: Final = 64 * 1024
CUT_SHORT: Final = 128 + SIGPIPE
_CACHES: Final = ("XDG_CACHE_HOME", "XDG_STATE_HOME", "npm_config_cache", "GOCACHE", "GOPATH")
_NO_CACHES: Final = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
"""Who runs the tests of a user's project has not changed it."""
CPU_PER_WALL: Final = 4
"""CPU time that a command may use per wall time: a few busy processes at once."""


class Shell(Tool):
    """`shell {command}`: a command line of bash with `pipefail` (of sh where there is no bash), in /work."""

    name = "shell"
    reads_only = False
    leave = Leave.NONE
    purpose = "Run a command line of bash, with pipefail."
    args_schema = texts_schema(command="")

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, {"command": COMMAND_BYTES_MAX})
        if not faults and (not (command := text(args, "command")).strip() or "\0" in command):
            faults = ["command is empty or holds a NUL"]
        return faults

    def tool_ids(self, args: JsonObject) -> frozenset[str]:
        """See `Tool`. `shell` alone if the command names no program that can be told."""
        programs = shell_programs(text(args, "command"))
        return frozenset(f"{self.name}:{program}" for program in programs) or frozenset({self.name})

    def target(self, args: JsonObject) -> str:
        """The command with every stretch of white space as one space."""
        return " ".join(text(args, "command").split())

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        command = text(call.args, "command")
        report = await place.sandbox.run(
            Execution(
                profile=Profile.WORK,
                argv=(*_shell(), command),
                work=place.folder,
                mounts=place.inputs
                + tuple(Mount(source=path, target=str(path), writable=True) for path in place.writable),
                limits=command_limits(place.limits, call.timeout_ms),
                environment=_environment(place.home),
                network=call.network,
                hear=place.hear,
            )
        )
        processes = recorded(report.processes, report.stdout, report.stderr)
        failure = of_report(report, shell_programs(command))
        if failure and report.exit_code == CUT_SHORT and processes and not CallParts(processes).fault:
            failure = None  # `seq 100000 | head -1`: who read had enough
        raw = replace(raw_of(report, failure), processes=processes)
        return raw if failure is None or report.broken_limit is None else replace(raw, exit_code=None)


def _environment(home: Path | None) -> dict[str, str]:
    """`~` is the user's home, which is read-only: what programs keep for themselves there goes elsewhere."""
    if home is None:
        return _NO_CACHES
    return {"HOME": str(home), **{name: f"/tmp/{name.lower()}" for name in _CACHES}, **_NO_CACHES}  # noqa: S108


def _shell() -> tuple[str, ...]:
    return ("/bin/bash", "-o", "pipefail", "-c") if Path("/bin/bash").exists() else ("/bin/sh", "-c")


def command_limits(limits: ExecutionLimits, timeout_ms: int) -> ExecutionLimits:
    """Those of a command that may take so long."""
    return replace(limits, wall_ms=timeout_ms, cpu_ms=timeout_ms * CPU_PER_WALL)
