"""Failures of a tool call by cause: the environment, the approach, or ourselves.

Environmental is only what an errno, an exit status or a passed limit says; everything else is logical. A command's
errno is lost when it exits, but for the C library's own text for it at the end of the last line of stderr, or the
`[Errno n]` that Python puts before it. These two forms are recognised; prose is not.
"""

import errno
import os
import re
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from earnest.effects.hands.sandbox.api import ExecutionReport, ExecutionStatus
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """Why a call failed. `failure_class` is None if the fault is our own: then it says nothing about the work.

    `code` is one of docs/tools.md. `paths` come with `erofs`: what could not be written to, in the command's own words,
    so not to be trusted; and with `needs_confirmation`: what the call needs leave to write to, resolved.
    """

    failure_class: FailureClass | None
    code: str
    message: str
    paths: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """The form kept in facts."""
        return {
            "class": self.failure_class,
            "code": self.code,
            "message": self.message,
            "paths": list(self.paths),
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> "ToolFailure":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match value:
            case {
                "class": None | "logical" | "environmental" as name,
                "code": str(code),
                "message": str(message),
                "paths": [*paths],
            }:
                failure_class = FailureClass(name) if isinstance(name, str) else None
                return cls(failure_class=failure_class, code=code, message=message, paths=tuple(map(str, paths)))
        raise Broken(f"not a recorded failure: {value!r}")


ENVIRONMENTAL_ERRNOS: Final = frozenset(
    (
        *(errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.EADDRNOTAVAIL, errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ETIMEDOUT),
        *(errno.EAGAIN, errno.EBUSY, errno.EIO),
        *(errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC),
    )
)
"""Missing input, permission, network, time, space."""

EXIT_CODES: Final[Mapping[int, tuple[str, str]]] = {
    126: ("not_executable", "a program could not be started"),
    127: ("not_found", "a program could not be started"),
    128 + signal.SIGXFSZ: ("file_limit", "a file would have passed the limit of its size"),
    -signal.SIGXFSZ: ("file_limit", "a file would have passed the limit of its size"),
}
"""What a shell says of a program that it could not start (POSIX.1-2017, 2.8.2), or that passed `Limits.file_bytes`."""

NETWORK_EXIT_CODES: Final[Mapping[str, frozenset[int]]] = {
    "curl": frozenset({5, 6, 7, 28, 35, 52, 55, 56}),
    "wget": frozenset({4, 5}),
    "ssh": frozenset({255}),
    "scp": frozenset({255}),
    "sftp": frozenset({255}),
    "rsync": frozenset({10, 30, 35}),
}
"""Exit codes that these programs' manuals give to the network; they count if nothing else ran in the command."""

LIMIT_CODES: Final[Mapping[str, str]] = {
    "wall time": "timeout",
    "memory": "memory_limit",
    "cpu time": "cpu_limit",
    "output": "output_limit",
    "disk": "disk_limit",
    "processes": "process_limit",
}
"""By `ExecutionReport.broken_limit`."""

RESOLVER_TEXTS: Final = frozenset(
    {
        "Name or service not known",
        "Temporary failure in name resolution",
        "No address associated with hostname",
    }
)
"""The C library's texts for a name that cannot be looked up (gai_strerror)."""

NEEDS_CONFIRMATION: Final = "needs_confirmation"
"""Of a call that may be made anew once somebody has confirmed it: the only failure that is no result."""

PASSING_ERRNOS: Final = frozenset(
    {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM},
)
"""Our own side failed, and may not the next time: no call is blamed for it."""

_STRERROR: Final = {os.strerror(number): number for number in ENVIRONMENTAL_ERRNOS}
_PYTHON_ERRNO: Final = re.compile(r"\[Errno (-?\d{1,5})\]")
SAID_CHARACTERS_MAX: Final = 300
_LAST_LINE_CHARACTERS: Final = 1_000
_READ_ONLY: Final = os.strerror(errno.EROFS)
_TOLD_PATH: Final = re.compile(r"""(?:^|[\s'"\u2018])(/[^:'"\u2018\u2019]{0,1024})(?=[:'"\u2019])""")
"""Between quotes, straight or curly, or before a colon."""
TOLD_BYTES_MAX: Final = 16 * 1024
"""How much of the end of stderr is searched for paths."""


def logical(code: str, message: str) -> ToolFailure:
    """A failure of the approach."""
    return ToolFailure(failure_class=FailureClass.LOGICAL, code=code, message=message)


def environmental(code: str, message: str) -> ToolFailure:
    """A failure of the surroundings."""
    return ToolFailure(failure_class=FailureClass.ENVIRONMENTAL, code=code, message=message)


def ours(code: str, message: str) -> ToolFailure:
    """A failure of this program, which says nothing about the work."""
    return ToolFailure(failure_class=None, code=code, message=message)


def of_os_error(error: OSError, path: str) -> ToolFailure:
    """The failure of a file tool. The code is the errno's name in small letters, such as `enoent`.

    Raises the error itself where it says nothing about the call (`PASSING_ERRNOS`).
    """
    number = error.errno or 0
    if number in PASSING_ERRNOS:
        raise error
    build = environmental if number in ENVIRONMENTAL_ERRNOS else logical
    return build(_errno_code(number), f"{path}: {os.strerror(number)}")


def of_report(report: ExecutionReport, programs: Collection[str]) -> ToolFailure | None:
    """The failure of a command that used these programs, or None: it ended by itself, within limits, with 0."""
    if report.status is ExecutionStatus.REFUSED:
        return ours("sandbox_refused", report.reason)
    if report.broken_limit is not None:
        return environmental(LIMIT_CODES[report.broken_limit], f"the limit of {report.broken_limit} was passed")
    if report.status is ExecutionStatus.KILLED or report.exit_code is None:
        return ours("sandbox_killed", report.reason or "the command was ended from outside")
    return _of_exit(report.exit_code, report.stderr, programs)


def _of_exit(code: int, stderr: bytes, programs: Collection[str]) -> ToolFailure | None:
    if code == 0:
        return None
    line = stderr[-_LAST_LINE_CHARACTERS:].decode(errors="replace").rstrip().rpartition("\n")[2].strip()
    said = f": {line[:SAID_CHARACTERS_MAX]}" if line else ""
    if code in EXIT_CODES:
        name, meaning = EXIT_CODES[code]
        return environmental(name, f"exit code {code}: {meaning}{said}")
    if len(programs) == 1 and any(code in NETWORK_EXIT_CODES.get(program, ()) for program in programs):
        return environmental("network", f"exit code {code}, which {next(iter(programs))} gives to the network{said}")
    errno_code = _errno_of(line)
    if errno_code is not None:
        paths = _told_paths(stderr) if errno_code == "erofs" else ()
        return replace(environmental(errno_code, f"exit code {code}: {line}"), paths=paths)
    if code < 0:
        return logical("signal", f"ended by signal {-code}{said}")
    return logical("exit_code", f"exit code {code}{said}")


def _errno_of(line: str) -> str | None:
    """The code for the errno that a line of stderr names, if it is an environmental one."""
    text = line.rstrip(" .").rpartition(": ")[2]
    if text in RESOLVER_TEXTS:
        return "network"
    number = _STRERROR.get(text)
    if number is None and (found := _PYTHON_ERRNO.search(line)):
        number = int(found[1])
        if number < 0:  # Python shows the resolver's numbers in the same form
            return "network" if any(known in line for known in RESOLVER_TEXTS) else None
    return _errno_code(number) if number in ENVIRONMENTAL_ERRNOS else None


def _told_paths(stderr: bytes) -> tuple[str, ...]:
    """The absolute paths in lines that tell of a read-only file system, each once."""
    lines = stderr[-TOLD_BYTES_MAX:].decode(errors="replace").splitlines()
    return tuple(dict.fromkeys(path for line in lines if _READ_ONLY in line for path in _TOLD_PATH.findall(line)))


def _errno_code(number: int | None) -> str:
    return errno.errorcode.get(number or 0, "unknown_errno").lower()
