"""The tool that hands a task to a program of the user's: another agent, a script, anything that can be started.

It runs as the user, outside the sandbox, in a stage of the workspace; what it leaves there is judged, and nothing that
it says. Whom it leaves behind is found by a mark in the environment and ended.
"""

import os
import shlex
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from earnest.effects.ground.process import Ended, ProgramFailed, run_group
from earnest.effects.hands.sandbox.api import Execution, Mount, Profile
from earnest.effects.hands.scratch import scratch
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.failures import ToolFailure, environmental, logical, of_report
from earnest.effects.hands.tools.record import RawResult, ToolCall, raw_of
from earnest.effects.hands.tools.shell import command_limits
from earnest.effects.hands.tools.task_folder import PROGRAM, PROMPT, TASK_DIR
from earnest.foundation.canonical import JsonObject

COMMAND_CHARACTERS_MAX: Final = 4_000
FILES_MAX: Final = 50
FILE_CHARACTERS_MAX: Final = 200_000
SECRETS: Final = ("EARNEST_KEY", "VERIFY_LLM_API_KEY")
"""What the program is not told: keys by which it could judge itself or act as the user's agent."""
_SWEEPS_MAX: Final = 20
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "files": {"type": "object"}, "sandbox": {"type": "boolean"}},
    "required": ["command"],
}


class ProgramTool(Tool):
    """`program {command, files, sandbox}`: a command line, split as a shell would, and the files of its task folder.

    `{task_dir}` in a word stands for that folder, which is also `EARNEST_TASK_DIR`. With `sandbox` it runs where
    commands do, with the network only if the call asks for it.
    """

    name = PROGRAM
    reads_only = False
    leave = Leave.OUTSIDE
    purpose = "Hand the task to a program that the user named."
    args_schema = _SCHEMA

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = [f"unknown argument {name!r}" for name in args if name not in {"command", "files", "sandbox"}]
        command, files = args.get("command"), args.get("files", {})
        if not isinstance(command, str) or len(command) > COMMAND_CHARACTERS_MAX:
            faults.append(f"command is no text of up to {COMMAND_CHARACTERS_MAX} characters")
        elif not _words(command):
            faults.append("command names no program, or its quotes do not match")
        if not isinstance(files, Mapping) or len(files) > FILES_MAX or not all(map(_is_file, files.items())):
            faults.append(f"files is no object of up to {FILES_MAX} relative names with texts")
        if not isinstance(args.get("sandbox", False), bool):
            faults.append("sandbox is neither true nor false")
        return faults

    def target(self, _args: JsonObject) -> str:
        """Nothing that could be blocked: what the program touches is for it to choose."""
        return ""

    async def run(self, call: ToolCall, place: ToolPlace) -> RawResult:
        """See `Tool`."""
        files = call.args.get("files", {})
        assert isinstance(files, Mapping)
        with scratch("task") as folder:
            _lay_out(folder, files)
            if call.args.get("sandbox"):
                return await _sandboxed(call, place, folder)
            shown = _show_inputs(place)
            environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
            environment[TASK_DIR] = str(folder)
            try:
                ended = await run_group(
                    _in(folder, call),
                    folder / PROMPT,
                    environment,
                    call.timeout_ms / 1000,
                    place.folder,
                    hear=place.hear,
                )
            except ProgramFailed as failed:
                return RawResult(failure=environmental("program_failed", str(failed)))
            finally:
                left = _end_marked(f"{TASK_DIR}={folder}".encode())
                for path in shown:
                    with suppress(OSError):
                        _clear(path)
        return RawResult(
            stdout=ended.output, stderr=ended.complaint, exit_code=ended.code, failure=_failure(ended, left)
        )


async def _sandboxed(call: ToolCall, place: ToolPlace, folder: Path) -> RawResult:
    report = await place.sandbox.run(
        Execution(
            profile=Profile.WORK,
            argv=("/usr/bin/env", f"{TASK_DIR}={folder}", *_in(folder, call)),
            work=place.folder,
            mounts=(
                *place.inputs,
                Mount(source=folder, target=str(folder), is_ours=True),
                *(Mount(source=path, target=str(path), writable=True) for path in place.writable),
            ),
            stdin=(folder / PROMPT).read_bytes(),
            limits=command_limits(place.limits, call.timeout_ms),
            network=call.network,
            hear=place.hear,
        )
    )
    return raw_of(report, of_report(report, ()))


def _in(folder: Path, call: ToolCall) -> list[str]:
    """The words of the command line."""
    return [word.replace("{task_dir}", str(folder)) for word in _words(str(call.args["command"]))]


def _failure(ended: Ended, left: int) -> ToolFailure | None:
    if left:
        return logical("program_left_processes", f"it left {left} process{'es' * (left > 1)} behind, which were ended")
    if ended.code:
        how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
        return logical("exit_code", f"it ended with {how}{ended.last_words}")
    return None


def _words(command: str) -> list[str]:
    """Empty if its quotes do not match, or it holds what no argument can."""
    with suppress(ValueError):
        return [] if "\0" in command else shlex.split(command)
    return []


def _is_file(item: tuple[str, object]) -> bool:
    name, text = item
    parts = name.split("/")
    is_plain = bool(name) and name.isprintable() and not any(part in {"", ".", ".."} for part in parts)
    return is_plain and isinstance(text, str) and len(text) <= FILE_CHARACTERS_MAX


def _lay_out(folder: Path, files: Mapping[str, object]) -> None:
    folder.chmod(0o755)  # a sandboxed program is another user
    (folder / PROMPT).touch()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text), encoding="utf-8", errors="replace")


def _show_inputs(place: ToolPlace) -> list[Path]:
    """What the sandbox would show below /work: a link to each input, and a copy of what was made for the run."""
    shown = []
    for mount in place.inputs:
        path = place.folder / mount.target
        with suppress(OSError):  # the tool works without it: what needs it says so itself
            _clear(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            if mount.is_ours:
                shutil.copytree(mount.source, path, symlinks=True)
            else:
                path.symlink_to(mount.source)
            shown.append(path)
    return shown


def _clear(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _end_marked(mark: bytes) -> int:
    """Kill every process of ours whose environment holds the mark; how many there were."""
    ended: set[int] = set()
    for _ in range(_SWEEPS_MAX):
        found = set(_marked(mark))
        if not found:
            break
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended |= found
    return len(ended)


def _marked(mark: bytes) -> Iterator[int]:
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if mark in Path(entry.path, "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)
