"""What a sandbox is asked and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

MIB = 1024 * 1024
WORK_DIR = "/work"
ENVIRONMENT_DIR = "/opt/earnest"
"""Where a built environment is shown; its scripts name this place."""
SELF_TEST_VALID_MS = 300_000
"""How long a self-test is believed."""


HearOutput: TypeAlias = Callable[[int, bytes, int], None]
"""Hears what a command puts out while it runs: on 1 or 2, the newest of it, and how many bytes before it are left out.

It must not raise. Nothing waits for it, and what it heard is no evidence: the report says what there was.
"""


class Profile(StrEnum):
    """VERIFY judges what was handed in; WORK runs an executor's tools on the run's workspace."""

    VERIFY = "verify"
    WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionLimits:
    """Bounds of one execution; passing any of them ends it. Memory and CPU count over all its processes.

    A file that would grow past `file_bytes`, and a descriptor past `open_files`, are refused to the program instead.
    """

    wall_ms: int = 10_000
    cpu_ms: int = 10_000
    memory_bytes: int = 512 * MIB
    processes: int = 64
    open_files: int = 256
    output_bytes: int = MIB
    """Of stdout and of stderr, each."""
    file_bytes: int = 64 * MIB
    """Of one file."""
    disk_bytes: int = 256 * MIB
    """Of everything under /work, /tmp and /dev/shm together; under WORK, and of layers, of what /work grew by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file or folder of the host, shown inside. A relative `target` is below /work.

    What is `writable` is named by its resolved path, so that no link made meanwhile can lead elsewhere. What `is_ours`
    was made for the run it is shown to, and may lie in the data directory, which is private otherwise.
    """

    source: Path
    target: str
    writable: bool = False
    is_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """A /work that is laid over folders of the host, which stay as they are (overlayfs): `lowers`, the lowest first.

    What is written comes into `folder`, which holds the empty folders `upper` and `work`; without it, into memory.
    Nothing else may write to any of them meanwhile.
    """

    lowers: tuple[Path, ...]
    folder: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """A Python program that a box has loaded before its job is known: such boxes stand ready after its first use.

    `modules` maps names to (is a package, code as marshal), beside the standard library the only ones that it can
    import; those in `imports` are imported in advance. `entry` is the module whose `main(arguments) -> int` runs, with
    the execution's `argv`. It must not be altered, and is itself by identity.
    """

    modules: Mapping[str, tuple[bool, bytes]]
    imports: tuple[str, ...]
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One command to run.

    `work` is what stands in /work at the start: under VERIFY a folder or the files themselves are copied into a
    private in-memory /work, or a large folder is laid under it where the kernel allows that; under WORK a folder is
    bound there, writable, so that what was written stays, or layers with a `folder` of their own.
    It begins there. `artifacts` are paths relative to /work that are read after every process has ended. What cannot be
    executed ends `done` with exit code 127 and the reason on stderr.

    With a `program` that runs, in a process of its own, instead of a command. `joined` begins together with this one,
    in a box of its own that shares nothing with this one but two pipes: each reads the other on its descriptor 3 and
    writes to it on 4. They share one processor, because handing over there is ten times as quick.

    `hidden` are files and folders of the host that the system's folders and the interpreter's must not show.
    """

    profile: Profile
    argv: tuple[str, ...]
    work: Path | Layers | Mapping[str, bytes] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: ExecutionLimits = ExecutionLimits()
    network: bool = False
    artifacts: tuple[str, ...] = ()
    program: Program | None = None
    joined: "Execution | None" = None
    hidden: tuple[Path, ...] = ()
    hear: HearOutput | None = None


class ExecutionStatus(StrEnum):
    """How an execution ended: by itself, not begun, or by us."""

    DONE = "done"
    REFUSED = "refused"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process under WORK from a fork or an exec to its end or its next exec, as its tracer saw it.

    `parent` is the index of what it came of, -1 for the first. `program` is the executable's path, empty for a fork
    that has executed none and for one that cannot be read; `words` is the beginning of its command line, zero bytes
    between. `exit_code` is -n for a death by signal n, None if the process was replaced by the next image or not seen
    to end. `out` and `err` are how much of stdout and stderr there was at its start and at its end; `holds` says
    whether a descriptor of it led to either, and `files` where its first three led, and further pipes: `stdout`,
    `stderr`, a path, `pipe:[n]`.
    """

    parent: int
    program: str = ""
    words: str = ""
    exit_code: int | None = None
    out: tuple[int, int] = (0, 0)
    err: tuple[int, int] = (0, 0)
    holds: tuple[bool, bool] = (True, True)
    files: tuple[str, ...] = ("", "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionReport:
    """What happened. `reason` says in words why the status is not `done`, or is empty.

    `exit_code` is None unless the main process exited; a death by signal n is -n. `leftovers` counts processes that
    were still there when the main one had ended. `artifacts` holds only regular, single-linked files within limits.
    """

    status: ExecutionStatus
    reason: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    memory_exceeded: bool = False
    cpu_exceeded: bool = False
    output_exceeded: bool = False
    disk_exceeded: bool = False
    processes_exceeded: bool = False
    leftovers: int = 0
    cpu_ms: int = 0
    wall_ms: int = 0
    memory_peak_bytes: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()
    """In the order in which they began; none under VERIFY, and none where the kernel lets nobody trace."""
    sandbox: str = ""
    """Provider, version and mode; part of every verdict."""
    joined: "ExecutionReport | None" = None
    """Of the execution that was joined to this one."""

    @property
    def broken_limit(self) -> str | None:
        """The name of a limit that was passed, or None."""
        broken = {
            "wall time": self.timed_out,
            "memory": self.memory_exceeded,
            "cpu time": self.cpu_exceeded,
            "output": self.output_exceeded,
            "disk": self.disk_exceeded,
            "processes": self.processes_exceeded,
        }
        return next((name for name, passed in broken.items() if passed), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One attack that the self-test tried. `held` is True when the sandbox stood."""

    name: str
    held: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Green only if every attack was tried and every one failed."""

    provider: str
    at_ms: int
    probes: tuple[Probe, ...]
    problem: str = ""
    """Why the test could not be run, with what to install; empty if it ran."""
    lack: str = ""
    """What this machine does not let the sandbox do, though it stands; empty if it does all."""

    @property
    def green(self) -> bool:
        """True if untrusted code may run."""
        return not self.problem and bool(self.probes) and all(probe.held for probe in self.probes)

    @property
    def reason(self) -> str:
        """Why it is not green, in one line; empty if it is."""
        fallen = ", ".join(probe.name for probe in self.probes if not probe.held)
        return self.problem or (f"the sandbox did not hold against: {fallen}" if fallen else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """How a sandbox is set up.

    Under WORK `home` is shown read-only at its own path, if given. `masked` and every known place of keys and
    credentials in it are hidden in all that is shown, and refused as a mount of a WORK execution. At most `slots`
    executions run at once (more wait; joined ones count as one), and `pool` sandboxes for plain VERIFY executions stand
    ready, as many again for each program. `binaries` replaces the search for bubblewrap. A green self-test is kept in
    the folder `kept`, if only its owner writes there, and believed for a day while nothing that it depends on differs.
    """

    home: Path | None = None
    masked: tuple[Path, ...] = ()
    slots: int = 4
    pool: int = 2
    binaries: tuple[Path, ...] | None = None
    kept: Path | None = None


class Sandbox(Protocol):
    """A place where code of strangers can run. Every method may be called from several tasks at once."""

    @property
    def description(self) -> str:
        """Provider, version and mode, as in `ExecutionReport.sandbox`."""

    async def run(self, execution: Execution) -> ExecutionReport:
        """Run it. Never raises for what the execution did; a sandbox that cannot start answers `refused`.

        A cancelled call has ended every process of the execution before it raises `CancelledError`.
        """

    async def self_test(self, max_age_ms: int = 0, /) -> SelfTest:
        """Attack the real backend from inside, unless that was done, or a kept result taken up, within `max_age_ms`.

        While the last result is not green, `run` answers `refused`; `run` tests first if nobody has.
        """

    async def close(self) -> None:
        """End waiting sandboxes and free what was taken."""
