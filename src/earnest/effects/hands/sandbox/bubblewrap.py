"""The arguments of bubblewrap. Pure: what is shown inside, and where."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from earnest.effects.hands.sandbox.api import ENVIRONMENT_DIR, MIB, WORK_DIR, Layers, Mount
from earnest.effects.hands.sandbox.host import LIBRARY_FOLDERS, Host
from earnest.foundation.errors import Refused

PROGRAM: Final = "/run/earnest/pid1.pyc"
TOOLS: Final = "/run/earnest/bin"
GROWN: Final = "/run/earnest/grown"  # what a call writes to its layers, to be measured by pid 1
UID: Final = 1000
SIZE_MARGIN_BYTES: Final = MIB  # a file system slightly larger than its limit, so that passing the limit is seen

# Descriptors that the forker fills, in this order from `forker.DATA_FIRST` on.
SECCOMP_FD, PASSWD_FD, GROUP_FD, HOSTS_FD, PROGRAM_FD, TRACING_SECCOMP_FD = range(10, 16)
PASSWD: Final = b"root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/tmp:/bin/sh\n"
GROUP: Final = b"root:x:0:\nagent:x:1000:\n"
HOSTS: Final = b"127.0.0.1 localhost\n::1 localhost\n"

ETC: Final = ("/etc/ld.so.cache", "/etc/alternatives")
ETC_NETWORK: Final = (
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
)
RESERVED: Final = tuple(map(PurePosixPath, (*LIBRARY_FOLDERS, "/dev", "/etc", "/proc", "/run", "/sys", "/usr")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What of an execution must be known when its sandbox starts. `work` is bound to /work, or laid under it, or None.

    `home` is shown at its own path, resolved; `masks` (place inside, is a folder) are hidden in whatever is shown. Only
    a zygote, which runs nothing of strangers, is not `filtered`: the boxes that it starts are. `inodes` are those of an
    environment: one that was built anew at its place is another.
    """

    disk_bytes: int
    work: Path | Layers | None = None
    mounts: tuple[Mount, ...] = ()
    home: Path | None = None
    masks: tuple[tuple[Path, bool], ...] = ()
    network: bool = False
    filtered: bool = True
    inodes: tuple[int, ...] = ()

    @property
    def sources(self) -> tuple[Path, ...]:
        """Everything of the host that this one start shows, beside what every sandbox shows."""
        own = [self.home] if self.home else []
        if isinstance(self.work, Layers):
            own += [*self.work.lowers, *([self.work.folder] if self.work.folder else [])]
        elif self.work:
            own.append(self.work)
        return (*own, *(mount.source for mount in self.mounts))

    @property
    def lasts(self) -> bool:
        """True if boxes of this shape may stand ready: beside the system they show built environments alone."""
        shown = {mount.target for mount in self.mounts if mount.is_ours and not mount.writable}
        alone = self.work is None and self.home is None and not self.network
        return alone and shown <= {ENVIRONMENT_DIR} and len(shown) == len(self.mounts)

    @property
    def stays(self) -> bool:
        """True if what is written to /work outlives the sandbox."""
        return self.work.folder is not None if isinstance(self.work, Layers) else self.work is not None


def mount_target(mount: Mount) -> str:
    """The absolute place of a mount inside. Raises `Refused("sandbox_mount")` for a place that is not theirs."""
    target = PurePosixPath(WORK_DIR) / mount.target
    reserved = RESERVED if mount.is_ours else (*RESERVED, PurePosixPath(ENVIRONMENT_DIR))
    taken = any(target.is_relative_to(place) for place in reserved)
    if taken or ".." in target.parts or len(target.parts) < 2 or "\0" in mount.target:
        raise Refused("sandbox_mount", f"nothing can be shown at {mount.target!r}")
    return str(target)


def arguments(host: Host, shape: Shape, staged: Callable[[Path], str]) -> tuple[str, ...]:
    """Everything after the name of the binary; `staged` says where a source of the host is to be found."""
    options = [
        "--unshare-all",
        *(["--share-net"] if shape.network else []),
        *("--new-session", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--clearenv"),
        *("--uid", str(UID), "--gid", str(UID), "--hostname", "earnest"),
        *(("--seccomp", str(TRACING_SECCOMP_FD if shape.stays else SECCOMP_FD)) if shape.filtered else ()),
        *_system(host, network=shape.network),
        *("--proc", "/proc", "--dev", "/dev"),
        *_memory("/dev/shm", shape.disk_bytes),  # noqa: S108
        *_memory("/tmp", shape.disk_bytes),  # noqa: S108
    ]
    if shape.home:
        options += ["--ro-bind", staged(shape.home), str(shape.home)]
    if not host.prefix.is_relative_to("/usr"):
        options += ["--ro-bind", staged(host.prefix), str(host.prefix)]
    options += _work(shape, staged)
    for mount in shape.mounts:
        options += ["--bind" if mount.writable else "--ro-bind", staged(mount.source), mount_target(mount)]
    options += _hidden(shape.masks)
    for name in ("python", "python3"):
        options += ["--symlink", str(host.interpreter), f"{TOOLS}/{name}"]
    options += _file(PROGRAM_FD, PROGRAM)
    options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    return (*options, "--", str(host.interpreter), "-I", "-S", PROGRAM)


def _work(shape: Shape, staged: Callable[[Path], str]) -> list[str]:
    match shape.work:
        case None:
            return _memory(WORK_DIR, shape.disk_bytes)
        case Path():
            return ["--bind", staged(shape.work), WORK_DIR]
    options = [word for lower in shape.work.lowers for word in ("--overlay-src", staged(lower))]
    if shape.work.folder is None:
        return [*options, "--tmp-overlay", WORK_DIR]
    upper, work = (f"{staged(shape.work.folder)}/{name}" for name in ("upper", "work"))
    return [*options, "--overlay", upper, work, WORK_DIR, "--ro-bind", upper, GROWN]


def search_path(host: Host) -> str:
    """PATH inside: `python` and `python3` are the interpreter that this process runs on."""
    return f"{TOOLS}:{host.prefix}/bin:/usr/local/bin:/usr/bin:/bin"


def _system(host: Host, *, network: bool) -> list[str]:
    options = ["--ro-bind", "/usr", "/usr"]
    for place, target in host.links:
        options += ["--symlink", target, place]
    for place in host.folders:
        options += ["--ro-bind", place, place]
    options += [*_file(PASSWD_FD, "/etc/passwd"), *_file(GROUP_FD, "/etc/group"), *_file(HOSTS_FD, "/etc/hosts")]
    for place in (*ETC, *(ETC_NETWORK if network else ())):
        options += ["--ro-bind-try", place, place]
    return options


def _file(descriptor: int, place: str) -> list[str]:
    return ["--perms", "0444", "--file", str(descriptor), place]


def _memory(place: str, size_bytes: int) -> list[str]:
    return ["--size", str(size_bytes + SIZE_MARGIN_BYTES), "--tmpfs", place]


def _hidden(masks: Iterable[tuple[Path, bool]]) -> list[str]:
    options: list[str] = []
    for place, is_folder in masks:
        options += ["--tmpfs", str(place), "--remount-ro", str(place)] if is_folder else []
        options += [] if is_folder else ["--ro-bind", "/dev/null", str(place)]
    return options
