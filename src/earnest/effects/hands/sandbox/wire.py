"""What crosses a box's channel: a job, the pipes that join it to another, a report. (The other end is `pid1.py`.)"""

import asyncio
import contextlib
import marshal
import os
import socket
import stat
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from earnest.effects.hands.sandbox.api import (
    WORK_DIR,
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Layers,
    Process,
    Profile,
    Program,
)
from earnest.effects.hands.sandbox.bubblewrap import GROWN
from earnest.effects.hands.sandbox.compiled import code_of
from earnest.effects.hands.sandbox.pid1 import BLOBS, FIELDS, MEASURED, NO_EXIT, PASSED, TOLD_BYTES_MAX
from earnest.foundation.errors import Refused

CHUNK_BYTES: Final = 1 << 18
FILES_MAX: Final = 20_000
LARGE_FILES: Final = 1_000  # from here on it costs less to lay a folder under /work than to copy it there
LARGE_BYTES: Final = 32 * 1024 * 1024
ARTIFACTS_MAX: Final = 1_000
LINE_BYTES_MAX: Final = 64 * 1024
PROBLEM_BYTES_MAX: Final = 1_000
PROCESSES_BYTES_MAX: Final = 8 * 1024 * 1024
FOLDER, LINK = -1, -2  # in place of a size
ZYGOTE: Final = "earnest_zygote"
NO_PROGRAM: Final = bytes(8)
TOLD: Final = b">"
"""Begins the line before what is heard of a command while it runs."""
_PROCESS_WORDS_MIN: Final = 13
_PLAIN_MODE, _OWNER_BITS = 0o644, 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEntry:
    """Something that shall stand in /work: content (bytes, or a file of the host), a folder, or a link."""

    path: str
    size: int
    mode: int = _PLAIN_MODE
    target: str = ""
    content: bytes | Path = b""


def relative_path(path: str) -> str:
    """The path, normalised. Raises `Refused("sandbox_path")` unless it stays below /work."""
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise Refused("sandbox_path", f"{path!r} is not a path below /work")
    return str(pure)


def entries(work: Path | Mapping[str, bytes], limits: ExecutionLimits) -> tuple[WorkEntry, ...]:
    """What is to be copied. Raises `Refused` for what does not fit; only files, folders and links are taken.

    A link is copied as a link: it is never followed here, and inside it finds only what is inside.
    """
    if isinstance(work, Path):
        found = tuple(_folder_entries(work))
    else:
        found = tuple(
            WorkEntry(path=relative_path(path), size=len(content), content=content) for path, content in work.items()
        )
    if len(found) > FILES_MAX:
        raise Refused("sandbox_files", f"more than {FILES_MAX} files to copy")
    if any(entry.size > limits.file_bytes for entry in found):
        raise Refused("sandbox_files", f"a file of more than {limits.file_bytes} bytes to copy")
    if sum(max(entry.size, 0) for entry in found) > limits.disk_bytes:
        raise Refused("sandbox_files", f"more than {limits.disk_bytes} bytes to copy")
    return tuple(sorted(found, key=lambda entry: entry.size == LINK))  # links last: nothing is written through one


def is_large(root: Path) -> bool:
    """True if a folder had better not be copied. Looks no further than needed to tell."""
    size_bytes = 0
    for count, entry in enumerate(_folder_entries(root)):
        size_bytes += max(entry.size, 0)
        if count >= LARGE_FILES or size_bytes > LARGE_BYTES:
            return True
    return False


def _folder_entries(root: Path) -> Iterator[WorkEntry]:
    count = 0
    for folder, _, files, at in os.fwalk(root, follow_symlinks=False):
        here = Path(folder).relative_to(root)
        for name in files + [each.name for each in os.scandir(at) if each.is_symlink() and each.is_dir()]:
            count += 1
            if count > FILES_MAX:
                raise Refused("sandbox_files", f"more than {FILES_MAX} files to copy")
            path = str(here / name)
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                yield WorkEntry(path=path, size=LINK, target=os.readlink(name, dir_fd=at))
            elif stat.S_ISREG(status.st_mode):
                mode = stat.S_IMODE(status.st_mode) & 0o777 | _OWNER_BITS
                yield WorkEntry(path=path, size=status.st_size, mode=mode, content=root / path)
        if here != Path():
            yield WorkEntry(path=str(here), size=FOLDER)


def job_parts(
    execution: Execution,
    copied: tuple[WorkEntry, ...],
    environment: Mapping[str, str],
    cpu: int | None = None,
    child_filter: bytes = b"",
) -> Generator[bytes, None, None]:
    """The job, in pieces to be sent one after the other. Raises `Refused` if a file changes meanwhile.

    `cpu` is given for executions that are joined: the processor that both run on. With a `child_filter` the command is
    traced, if the kernel allows it.
    """
    measured = GROWN if isinstance(execution.work, Layers) else WORK_DIR  # by a walk: no file system tells its size
    job = marshal.dumps(
        {
            "argv": [os.fsencode(argument) for argument in execution.argv],
            "environment": dict(environment),
            "folder": measured if execution.profile is Profile.WORK else "",
            "files": [(entry.path, entry.mode, entry.size, entry.target) for entry in copied],
            "stdin": len(execution.stdin),
            "artifacts": list(execution.artifacts),
            "limits": {name: getattr(execution.limits, name) for name in ExecutionLimits.__slots__},
            "program": execution.program is not None,
            "filter": child_filter,
            "tracing": code_of("tracing") if child_filter else b"",
            "tell": execution.hear is not None,
            "cpu": cpu,
        }
    )
    yield sized(job)
    for entry in copied:
        if isinstance(entry.content, bytes):
            yield entry.content
        else:
            yield from _file_parts(entry.content, entry.size)
    yield execution.stdin


def program_message(program: Program | None, zygote: tuple[bytes, int] | None = None) -> bytes:
    """What a box is told before it waits; with the filter and the size of its boxes' file systems, a zygote."""
    if program is None:
        return NO_PROGRAM
    modules = dict(program.modules)
    if zygote is not None:
        modules[ZYGOTE] = (False, code_of("zygote"))
    told = (ZYGOTE, *zygote) if zygote else ()
    parts = {"modules": modules, "imports": program.imports, "entry": program.entry, "zygote": told}
    return sized(marshal.dumps(parts))


def sized(data: bytes) -> bytes:
    """The data after its length."""
    return len(data).to_bytes(8, "little") + data


def _file_parts(path: Path, size: int) -> Iterator[bytes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused("sandbox_files", f"{path} changed while it was copied")
        left = size
        while left > 0:
            part = file.read(min(left, CHUNK_BYTES))
            if not part:
                raise Refused("sandbox_files", f"{path} changed while it was copied")
            left -= len(part)
            yield part


def pipe(stack: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """The ends of a pipe, to read and to write: closed when they were handed over, at the latest with `stack`."""
    reading, writing = os.pipe()
    read = stack.enter_context(os.fdopen(reading, "rb", buffering=0))
    return read, stack.enter_context(os.fdopen(writing, "wb", buffering=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """What one of two joined executions is given: a processor, what it reads and what it writes."""

    cpu: int
    reads: IO[bytes]
    writes: IO[bytes]

    async def send(self, channel: socket.socket) -> None:
        """Hand its two ends over and close ours, so that each side sees when the other is gone."""
        with self.reads, self.writes:
            ends = (self.reads.fileno(), self.writes.fileno())
            while True:
                try:
                    socket.send_fds(channel, [b"="], ends)
                    break
                except BlockingIOError:
                    await _room(channel)


async def _room(channel: socket.socket) -> None:
    """Until the channel takes more."""
    loop, room = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(channel, room.set)
    try:
        await room.wait()
    finally:
        loop.remove_writer(channel)


class _Reader:
    """What comes through a box's channel, in lines and counted bytes."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._rest = b""

    async def line(self) -> bytes:
        """Up to the next line feed. Raises `EOFError`, or `ValueError` for a line of more than 64 KiB."""
        while b"\n" not in self._rest:
            if len(self._rest) > LINE_BYTES_MAX:
                raise ValueError("a line too long")
            self._rest += await self._some()
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    async def exactly(self, size: int) -> bytes:
        """So many bytes. Raises `EOFError`."""
        parts = [self._rest[:size]]
        self._rest = self._rest[size:]
        missing = size - len(parts[0])
        while missing:
            part = await self._some(min(missing, CHUNK_BYTES))
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    async def _some(self, size: int = CHUNK_BYTES) -> bytes:
        part = await asyncio.get_running_loop().sock_recv(self._channel, size)
        if not part:
            raise EOFError
        return part


async def received(channel: socket.socket, execution: Execution, sandbox: str) -> ExecutionReport:
    """The report, once what was put out before it has been told. Raises `EOFError`, `ValueError`, `OSError`."""
    reader, told = _Reader(channel), [0, 0]
    while (line := await reader.line()).startswith(TOLD) and execution.hear is not None:
        stream, left_out, size = _told(line)
        told[stream - 1] += left_out + size
        execution.hear(stream, await reader.exactly(size), left_out)
    numbers = read_numbers(line, execution)
    blobs = [await reader.exactly(max(size, 0)) for size in numbers.sizes]
    if execution.hear is not None:
        for stream in (1, 2):
            rest = blobs[stream - 1][told[stream - 1] :]
            if newest := rest[-TOLD_BYTES_MAX:]:  # the end of what came after the last that was told is enough
                execution.hear(stream, newest, len(rest) - len(newest))
    return report(execution, numbers, blobs, sandbox)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The first line of a report: how much follows, and what was measured."""

    seen: Mapping[str, int]
    sizes: tuple[int, ...]
    """Of stdout, stderr, the problem, the processes, then each artifact; -1 for an artifact that is not acceptable."""


def _told(line: bytes) -> tuple[int, int, int]:
    """Of what a command put out meanwhile: on 1 or 2, how much is left out, how much follows. Raises `ValueError`."""
    stream, left_out, size = map(int, line.removeprefix(TOLD).split())
    if stream not in {1, 2} or left_out < 0 or not 0 < size <= TOLD_BYTES_MAX:
        raise ValueError("output out of bounds")
    return stream, left_out, size


def read_numbers(line: bytes, execution: Execution) -> Numbers:
    """Raises `ValueError` for anything that a pid 1 of ours would not have written about this execution."""
    numbers = [int(word) for word in line.split()]
    if len(numbers) != len(FIELDS) + len(execution.artifacts):
        raise ValueError("a report of another length")
    seen = dict(zip(FIELDS, numbers, strict=False))
    output_bytes = execution.limits.output_bytes
    sizes = (*(seen[name] for name in BLOBS), *numbers[len(FIELDS) :])
    artifacts = (execution.limits.file_bytes for _ in execution.artifacts)
    most = (output_bytes, output_bytes, PROBLEM_BYTES_MAX, PROCESSES_BYTES_MAX, *artifacts)
    within = all(size <= bound for size, bound in zip(sizes, most, strict=True))
    if not within or min(numbers, default=0) < -255 or min(sizes[:4]) < 0:
        raise ValueError("a report out of bounds")
    if sum(max(size, 0) for size in sizes[4:]) > execution.limits.disk_bytes:
        raise ValueError("a report out of bounds")
    return Numbers(seen=seen, sizes=sizes)


def read_processes(blob: bytes) -> tuple[Process, ...]:
    """What `tracing.Image.line` wrote. Raises `ValueError` for anything else."""
    return tuple(_process(number, line.split()) for number, line in enumerate(blob.splitlines()))


def _process(number: int, words: list[bytes]) -> Process:
    if len(words) < _PROCESS_WORDS_MIN:
        raise ValueError("half a process")
    parent, exit_code, *rest = words
    out, err, out_end, err_end, *holds = map(int, rest[:6])
    program, line, *files = (os.fsdecode(bytes.fromhex(text.decode().strip("-"))) for text in rest[6:])
    if not -1 <= int(parent) < number or not 0 <= out <= out_end or not 0 <= err <= err_end:
        raise ValueError("a process that cannot be")
    return Process(
        parent=int(parent),
        program=program,
        words=line,
        exit_code=None if exit_code == b"-" else int(exit_code),
        out=(out, out_end),
        err=(err, err_end),
        holds=(bool(holds[0]), bool(holds[1])),
        files=tuple(files),
    )


def report(execution: Execution, numbers: Numbers, blobs: list[bytes], sandbox: str) -> ExecutionReport:
    """The report that the numbers and what followed them make."""
    stdout, stderr, problem, processes, *contents = blobs
    if problem:
        return ExecutionReport(status=ExecutionStatus.REFUSED, reason=problem.decode(errors="replace"), sandbox=sandbox)
    seen, sizes = numbers.seen, numbers.sizes[4:]
    told: dict[str, Any] = {name: bool(seen[name]) for name in PASSED} | {name: seen[name] for name in MEASURED}
    result = ExecutionReport(
        status=ExecutionStatus.DONE,
        exit_code=None if seen["exit_code"] == NO_EXIT else seen["exit_code"],
        **told,
        stdout=stdout,
        stderr=stderr,
        artifacts={
            path: content for path, content, size in zip(execution.artifacts, contents, sizes, strict=True) if size >= 0
        },
        processes=read_processes(processes),
        sandbox=sandbox,
    )
    if result.broken_limit is None:
        return result
    return replace(result, status=ExecutionStatus.KILLED, reason=f"the limit of {result.broken_limit} was passed")
