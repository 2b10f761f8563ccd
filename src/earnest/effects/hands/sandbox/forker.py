"""What starts sandboxes: a small process outside of them, with one thread, no secrets and nothing else to do.

A program of its own (`python -I -S`). Forking here is cheap and safe, which it is not in a platform with threads and
large maps. As root it prepares what an unprivileged uid could not reach: in mount namespaces of its own it attaches
sources below `/sys` (present everywhere, wanted inside by nobody), then gives up every right before bubblewrap starts.
When the platform goes, by `kill -9` too, the control socket closes, this process ends, and with it every sandbox.

Control socket (descriptor 0, SOCK_SEQPACKET; every message one marshal value of the same interpreter):
first a `setup`, answered by `{"version": {binary: text}}` or `{"error": text}`; then
`{"start": id, "uid", "argv", "sources": [(path, staged)]}` with the channel's descriptor attached,
`{"kill": id}`; and back `{"started": id, "pid"}` and `{"ended": id, "status", "stderr"}`.
`start` with an empty argv gives a process that only waits: the self-test's canary.
"""

# pathlib would cost as much as the rest of the start.
# ruff: noqa: PTH101, PTH102, PTH103, PTH116, PTH123

import contextlib
import ctypes
import marshal
import os
import select
import signal
import socket
import struct
import sys

STAGE = "/sys"
SOURCES_MAX = 64  # of one start
MESSAGE_BYTES_MAX = 128 * 1024
DATA_FIRST = 10  # descriptors from here on hold the setup's data, as bubblewrap's arguments expect them
STDERR_BYTES_MAX = 4096
VERSION_BYTES_MAX = 200

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x1000, 0x4000, 0x40000, 0x2, 0x4
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same number on every architecture
OPEN_TREE_CLONE, AT_EMPTY_PATH, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_IDMAP = 1, 0x1000, 4, 0x00100000
AT_FDCWD = -100
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve until the control socket closes."""
    control = socket.socket(fileno=0)
    message = control.recv(1 << 20)
    if not message:
        return
    setup = marshal.loads(message)  # noqa: S302 - our own parent wrote it
    try:
        forker = Forker(control, setup)
        forker.prepare()
        control.send(marshal.dumps({"version": forker.versions()}))
    except OSError as error:
        control.send(marshal.dumps({"error": str(error)}))
        return
    forker.serve()


class Forker:
    """Starts, ends and buries."""

    def __init__(self, control: socket.socket, setup: dict[str, object]) -> None:
        self.control = control
        self.own_pid = os.getpid()
        self.root = os.geteuid() == 0
        self.data: list[bytes] = setup["data"]  # type: ignore[assignment]
        self.binaries: list[str] = setup["binaries"]  # type: ignore[assignment]
        self.sources: list[tuple[str, str]] = setup["sources"]  # type: ignore[assignment]
        self.running: dict[int, tuple[int, int, int]] = {}  # id → pid, pidfd, memory file of stderr
        self.user_namespaces: dict[tuple[int, int, int], int] = {}
        self.poll = select.poll()

    def prepare(self) -> None:
        """As root: a mount namespace of our own with room for sources, and the lasting ones attached."""
        os.umask(0o022)
        if not self.root:
            return
        check(libc.unshare(CLONE_NEWNS))
        mount(None, "/", None, MS_REC | MS_PRIVATE)
        mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV)
        os.chmod(STAGE, 0o755)  # noqa: S103
        for number in range(SOURCES_MAX):
            os.mkdir(f"{STAGE}/folder{number}")
            os.close(os.open(f"{STAGE}/file{number}", os.O_CREAT))
        for source, staged in self.sources:
            os.makedirs(staged, exist_ok=True)
            mount(source, staged, None, MS_BIND | MS_REC)

    def versions(self) -> dict[str, str]:
        """What each binary says of itself; a binary that cannot even do that is left out."""
        found = {}
        for binary in self.binaries:
            out, inner = os.pipe()
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(BaseException):
                    os.dup2(inner, 1)
                    os.execve(binary, [binary, "--version"], {})  # noqa: S606
                os._exit(1)
            os.close(inner)
            text = os.read(out, VERSION_BYTES_MAX)
            os.close(out)
            if os.waitpid(pid, 0)[1] == 0:
                found[binary] = text.decode(errors="replace").strip()
        return found

    def serve(self) -> None:
        """Messages in, ends out."""
        self.poll.register(self.control, select.POLLIN)
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor != self.control.fileno():
                    self.bury(descriptor)
                    continue
                message, descriptors, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES_MAX, 1)
                if not message:
                    return
                self.obey(marshal.loads(message), descriptors)  # noqa: S302

    def obey(self, order: dict[str, object], descriptors: list[int]) -> None:
        """Do what one message says."""
        if "kill" in order:
            self.kill(order["kill"])  # type: ignore[arg-type]
            return
        number: int = order["start"]  # type: ignore[assignment]
        stderr = os.memfd_create("stderr")
        try:
            maps = self.identity_maps(order)
        except OSError as error:
            self.answer({"ended": number, "status": 1, "stderr": f"cannot show a folder: {error}".encode()})
        else:
            pid = os.fork()
            if pid == 0:
                self.become(order, descriptors, stderr, maps)
            pidfd = os.pidfd_open(pid)
            self.running[pidfd] = (number, pid, stderr)
            self.poll.register(pidfd, select.POLLIN)
            self.answer({"started": number, "pid": pid})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def answer(self, message: dict[str, object]) -> None:
        """Tell the platform; if it is gone, so are we."""
        try:
            self.control.send(marshal.dumps(message))
        except OSError:
            sys.exit(0)

    def kill(self, number: int) -> None:
        """End a sandbox from its pid 1 on, so that its end is reported only once all of it is dead."""
        for running, pid, _ in self.running.values():
            if running == number:
                inner: list[int] = []
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as children:
                    inner = [int(child) for child in children.read().split()]
                for target in inner or [pid]:
                    with contextlib.suppress(OSError):
                        os.kill(target, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGCONT)  # whoever stopped it, it still has its child to bury

    def bury(self, pidfd: int) -> None:
        """Reap one child and say how it ended."""
        number, pid, stderr = self.running.pop(pidfd)
        self.poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        text = os.pread(stderr, STDERR_BYTES_MAX, 0)
        os.close(stderr)
        self.answer({"ended": number, "status": os.waitstatus_to_exitcode(status), "stderr": text})

    def identity_maps(self, order: dict[str, object]) -> list[int]:
        """As root: for each source a user namespace that turns its owner into the sandbox's uid."""
        maps = []
        if self.root:
            uid: int = order["uid"]  # type: ignore[assignment]
            for source, _ in order["sources"]:  # type: ignore[attr-defined]
                status = os.stat(source)
                key = (status.st_uid, status.st_gid, uid)
                if key not in self.user_namespaces:
                    self.user_namespaces[key] = user_namespace(*key)
                maps.append(self.user_namespaces[key])
        return maps

    def become(self, order: dict[str, object], descriptors: list[int], stderr: int, maps: list[int]) -> None:
        """In the child: descriptors, sources, rights, bubblewrap. Never returns."""
        try:
            os.dup2(stderr, 2)
            if self.root:
                self.drop(order, maps)
            argv: list[str] = order["argv"]  # type: ignore[assignment]
            if not argv:
                os.closerange(3, 4096)
                os.dup2(os.open("/dev/null", os.O_RDWR), 0)
                self.wait_for_its_end()
            os.dup2(descriptors[0], 0)
            os.dup2(os.open("/dev/null", os.O_RDWR), 1)
            os.closerange(3, 4096)
            for number, content in enumerate(self.data):
                place(content, DATA_FIRST + number)
            os.execve(argv[0], argv, {})  # noqa: S606
        except BaseException as error:
            os.write(2, f"cannot start: {error}".encode(errors="replace"))
        os._exit(1)

    def wait_for_its_end(self) -> None:
        """What is not bubblewrap ends with the forker too, however that ends. (A change of uid clears this.)"""
        check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        while os.getppid() == self.own_pid:
            signal.pause()

    def drop(self, order: dict[str, object], maps: list[int]) -> None:
        """Attach the sources of this one start where the sandbox's uid can reach them, then become that uid."""
        sources: list[tuple[str, str]] = order["sources"]  # type: ignore[assignment]
        if sources:
            check(libc.unshare(CLONE_NEWNS))
        for (source, staged), user in zip(sources, maps, strict=True):
            attach(source, staged, user)
        uid: int = order["uid"]  # type: ignore[assignment]
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def check(result: int) -> int:
    """The result of a C call, or its error raised."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    """mount(2) without data."""
    coded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    check(libc.mount(*coded, ctypes.c_ulong(flags), None))


def attach(source: str, staged: str, user: int) -> None:
    """A copy of the source's mount at `staged` on which one owner on disk is another to those who look (idmapped)."""
    tree = check(libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(source), OPEN_TREE_CLONE | os.O_CLOEXEC))
    attributes = struct.pack("<QQQQ", MOUNT_ATTR_IDMAP, 0, 0, user)
    check(libc.syscall(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, attributes, len(attributes)))
    check(libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(staged), MOVE_MOUNT_F_EMPTY_PATH))
    os.close(tree)


def user_namespace(owner: int, group: int, uid: int) -> int:
    """A descriptor of a user namespace that maps `owner` and `group` to `uid`."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.write(told, b"+" if libc.unshare(CLONE_NEWUSER) == 0 else b"-")
        signal.pause()
        os._exit(1)
    try:
        if os.read(ready, 1) != b"+":
            raise OSError(1, "no user namespace")
        for name, first in (("uid_map", owner), ("gid_map", group)):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(f"{first} {uid} 1")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(told)


def place(content: bytes, number: int) -> None:
    """Make descriptor `number` a memory file with this content, to be inherited."""
    descriptor = os.memfd_create("data")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, number)
    os.close(descriptor)


if __name__ == "__main__":
    main()
