"""The attacks of the self-test, as programs that run inside; what held is judged from outside wherever it can be."""

import marshal
from typing import Final

from earnest.effects.hands.sandbox.api import Probe, Program

EXECUTES: Final = Program(
    modules={
        "here": (
            False,
            marshal.dumps(compile("from os import execvp\nmain = lambda argv: execvp(argv[0], argv)", "here", "exec")),
        )
    },
    imports=(),
    entry="here",
)
"""Executes its arguments: so that an attack can be tried in a box that a zygote started."""
BY_ZYGOTE: Final = ", in a box that another started"

# Each attack answers `name=held` or `name=fallen`, so that one that was not even tried is missed.
ISOLATION: Final = r"""
import ctypes, os, socket, sys

canary_file, outside, secret_name, tcp, udp, unix, abstract, canary_pid = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)


def attempt(name, act):
    try:
        result = "fallen" if act() else "held"
    except Exception:
        result = "held"
    print(f"{name}={result}", flush=True)


def stranger():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if secret_name.encode() in open(f"/proc/{pid}/environ", "rb").read():
                return True
        except OSError:
            pass
    return False


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(0.2)
        s.connect(address)
        s.send(b"canary")
    return True


def write(path):
    with open(path, "w") as file:
        file.write("fallen")
    return True


def signal_by(pid):
    os.kill(pid, 15)
    return True


attempt("read a file outside", lambda: open(canary_file).read())
attempt("read a secret through /proc", stranger)
attempt("open /etc/shadow", lambda: open("/etc/shadow").read())
attempt("write outside", lambda: write(outside))
attempt("write to /usr", lambda: write("/usr/canary"))
attempt("write to the root", lambda: write("/canary"))
attempt("reach a TCP socket", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(tcp))))
attempt("reach a UDP socket", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(udp))) and False)
attempt("reach a Unix socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, unix))
attempt("reach an abstract socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract))
attempt("signal a process outside", lambda: signal_by(int(canary_pid)))
attempt("make a user namespace", lambda: libc.unshare(0x10000000) == 0)
attempt("trace pid 1", lambda: libc.ptrace(16, 1, 0, 0) == 0)
attempt("read the memory of pid 1", lambda: open("/proc/1/mem", "rb"))
attempt("take the descriptors of pid 1", lambda: os.listdir("/proc/1/fd"))
attempt("be root or hold a right", lambda: os.getuid() == 0 or "CapEff:\t0000000000000000" not in open("/proc/self/status").read())
attempt("gain rights by exec", lambda: libc.prctl(39, 0, 0, 0, 0) != 1)
attempt("run without the call filter", lambda: "Seccomp:\t2" not in open("/proc/self/status").read())
"""  # noqa: E501
ISOLATION_NAMES: Final = tuple(line.split('"')[1] for line in ISOLATION.splitlines() if line.startswith('attempt("'))

# Under WORK pid 1 traces; nobody else does, and nobody gets away from it.
TRACING: Final = r"""
import ctypes, os, signal

libc = ctypes.CDLL(None, use_errno=True)
clone = 56 if os.uname().machine == "x86_64" else 220


def attempt(name, act):
    print(f"{name}={'fallen' if act() else 'held'}", flush=True)


def untraced():
    pid = libc.syscall(clone, 0x00800000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return pid > 0


attempt("trace a parent", lambda: libc.ptrace(0x4206, os.getppid(), 0, 0) == 0)
attempt("be traced by a parent", lambda: libc.ptrace(0, 0, 0, 0) == 0)
attempt("make a child that is not traced", untraced)
"""
TRACING_NAMES: Final = tuple(line.split('"')[1] for line in TRACING.splitlines() if line.startswith('attempt("'))

# A daemon that holds one end of a pipe with a name in the bound folder: nobody reads from it once the daemon is dead.
DAEMON: Final = r"""
import os, time
os.mkfifo("pipe")
ready, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        held = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
        os.write(told, b"+")
        time.sleep(600)
    os._exit(0)
os.read(ready, 1)
"""

PROCESSES: Final = r"""
import os, time
for _ in range(12):
    if os.fork() == 0:
        break
time.sleep(600)
"""

MEMORY: Final = r"""
import os, time
for _ in range(3):
    if os.fork() == 0:
        break
held = b"x" * (16 << 20)
time.sleep(600)
"""

DISK: Final = r"""
block = b"x" * (1 << 20)
for place in ("/work/a", "/tmp/b", "/dev/shm/c"):
    with open(place, "wb", buffering=0) as file:
        try:
            while file.write(block):
                pass
        except OSError:
            pass
import time
time.sleep(600)
"""


def is_by_zygote(probe: Probe) -> bool:
    """True if it was tried there."""
    return probe.name.endswith(BY_ZYGOTE)
