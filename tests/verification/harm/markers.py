"""What stands outside for hostile programs to touch, and has any of it been touched?

Everything can be found from inside an unprotected machine: the canary process names a folder in its arguments, and
the folder holds a secret, a precious file, a socket and the addresses of the other listeners.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

WORD: Final = "earnest-marker"
"""Stands in the arguments of the canary process, in the name of its folder and in that of the secret's variable."""
SECRET_VARIABLE: Final = "EARNEST_MARKER_SECRET"
PRECIOUS: Final = "precious"
_CANARY: Final = "import sys; sys.stdin.read()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """`token` is part of every name, so that the markers of two suites on one machine are not mistaken."""

    token: str
    secret_on_disk: str
    secret_in_environment: str
    folder: Path
    canary: subprocess.Popen[bytes]
    listeners: dict[str, socket.socket]

    def tripped(self, said: str = "") -> list[str]:
        """The markers that were touched, by name; `said` is what the program could tell the outside."""
        precious = self.folder / PRECIOUS
        touched = {
            **{name: _was_reached(listener) for name, listener in self.listeners.items()},
            "process": self.canary.poll() is not None,
            "file changed": not precious.exists() or precious.read_text() != PRECIOUS,
            "file made": (self.folder / "made").exists(),
            "secret on disk": self.secret_on_disk in said,
            "secret in the environment": self.secret_in_environment in said,
            "state between runs": f"{self.token}-remembered" in said,
            "daemon": bool(list(_processes(f"{self.token}-daemon"))),
        }
        return sorted(name for name, was_touched in touched.items() if was_touched)

    def clear(self) -> None:
        """End and remove what an unprotected run leaves behind."""
        for pid in _processes(f"{self.token}-daemon"):
            os.kill(pid, signal.SIGKILL)
        for left in Path("/tmp").glob(f"{WORD}-{self.token}-left*"):
            left.unlink()


@contextlib.contextmanager
def markers() -> Iterator[Markers]:
    """Put them up, reachable for every user of this machine, and take them away."""
    token = secrets.token_hex(8)
    on_disk, in_environment = secrets.token_hex(16), secrets.token_hex(16)
    folder = Path(tempfile.mkdtemp(prefix=f"{WORD}-{token}-")).resolve()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        listeners = {name: stack.enter_context(listener) for name, listener in _listeners(folder, token)}
        folder.chmod(0o777)
        (folder / "secret").write_text(on_disk)
        (folder / PRECIOUS).write_text(PRECIOUS)
        (folder / PRECIOUS).chmod(0o666)
        addresses = {name: listener.getsockname() for name, listener in listeners.items()}
        addresses["abstract"] = addresses["abstract"].decode()
        (folder / "addresses").write_text(json.dumps(addresses))
        canary = stack.enter_context(_canary(folder, in_environment))
        os.environ[SECRET_VARIABLE] = in_environment
        stack.callback(os.environ.pop, SECRET_VARIABLE)
        put_up = Markers(
            token=token,
            secret_on_disk=on_disk,
            secret_in_environment=in_environment,
            folder=folder,
            canary=canary,
            listeners=listeners,
        )
        stack.callback(put_up.clear)
        yield put_up


def _listeners(folder: Path, token: str) -> Iterator[tuple[str, socket.socket]]:
    for name, family, kind, address in (
        ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        ("unix", socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
        ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{WORD}-{token}"),
    ):
        listener = socket.socket(family, kind)
        listener.bind(address)
        listener.setblocking(False)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        if name == "unix":
            (folder / "socket").chmod(0o777)
        yield name, listener


@contextlib.contextmanager
def _canary(folder: Path, secret: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing until it is told to end, or killed."""
    command = [sys.executable, "-I", "-S", "-c", _CANARY, WORD, str(folder)]
    canary = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, SECRET_VARIABLE: secret})
    try:
        yield canary
    finally:
        canary.kill()
        canary.communicate()


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(1)
        else:
            listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _processes(word: str) -> Iterator[int]:
    """The living processes whose arguments hold `word`."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes():
                yield int(entry.name)
