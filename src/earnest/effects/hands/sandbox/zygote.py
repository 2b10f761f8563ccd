"""What starts boxes that have a program loaded: a zygote, in a box of its own into which no job ever comes.

Loaded by `pid1.py` as the last module of a program, in its process. For each byte on the channel, which carries the
channel of a new box, it forks: into new user, mount, pid, IPC and network namespaces, and there once more into the
pid 1 of that box, which lays file systems of its own over those of the zygote, brings its loopback up, gives every
right away, lays the filter upon itself and goes on as any pid 1 does. All else that it sees is read-only, and what a
less privileged mount namespace got from above stays locked. Nobody in a box sees its zygote or any other box of it, and
the next one begins when the last process of the one before is gone.
"""

# pathlib would cost as much as the rest of the start.
# ruff: noqa: PTH123

import contextlib
import ctypes
import fcntl
import gc
import os
import socket
import struct

CHANNEL = 0
DESCRIPTORS_MAX = 4096
# CLONE_NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET; names of the host and of control groups need rights that no box has.
NAMESPACES = 0x00020000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 2, 24, 38
CAPABILITY_VERSION = 0x20080522
INSTRUCTION_BYTES = 8

libc = ctypes.CDLL(None, use_errno=True)


def serve(call_filter: bytes, size_bytes: int) -> None:
    """Returns in every new box, as its pid 1. Its in-memory file systems have `size_bytes` each."""
    gc.collect()
    gc.freeze()  # pages that nobody writes to stay shared
    os.write(CHANNEL, b"+")
    channel = socket.socket(fileno=CHANNEL)
    while True:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        if not descriptors:
            os._exit(0)
        if os.fork() == 0:
            try:
                enter()
                os.dup2(descriptors[0], CHANNEL)
                os.closerange(3, DESCRIPTORS_MAX)
                channel.detach()
                furnish(size_bytes)
                surrender(call_filter)
            except BaseException:
                os._exit(1)
            return
        os.close(descriptors[0])
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()  # the process between has no other heir


def enter() -> None:
    """Go on as the first process of new namespaces, with every right in them."""
    user, group = os.getuid(), os.getgid()
    check(libc.unshare(NAMESPACES))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    if os.fork():
        os._exit(0)


def furnish(size_bytes: int) -> None:
    """File systems and a loopback of our own."""
    mount("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    for place in ("/work", "/tmp", "/dev/shm"):  # noqa: S108
        mount("tmpfs", place, MS_NOSUID | MS_NODEV, f"mode=0755,size={size_bytes}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def surrender(call_filter: bytes) -> None:
    """Give every right away for good, and keep to the calls that the filter lets pass."""
    capability = 0
    while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    check(libc.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    instructions = ctypes.create_string_buffer(call_filter, len(call_filter))
    count = len(call_filter) // INSTRUCTION_BYTES
    program = struct.pack("HxxxxxxP", count, ctypes.addressof(instructions))
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0))


def mount(kind: str, place: str, flags: int, data: str = "") -> None:
    """mount(2) of a file system that lies nowhere."""
    coded = [os.fsencode(text) for text in (kind, place, kind)]
    check(libc.mount(*coded, ctypes.c_ulong(flags), os.fsencode(data)))


def check(result: int) -> None:
    """Raise the error of a C call that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
