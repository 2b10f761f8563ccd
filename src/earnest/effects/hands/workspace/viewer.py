"""What shows layered folders to our own process: a small program that holds overlay mounts in a namespace of its own.

Nobody else sees these mounts; we reach them through /proc/PID/root, which the kernel allows to who owns the namespace.
They need no privilege, and vanish with this process, which ends when its stdin does, by `kill -9` of its parent too.

A program of its own (`python -I -S`). In comes one JSON value a line, out goes a line for each, empty if it was done:
`{"lowers": [path, the lowest first], "folder": path}` mounts at `folder/view` what is written to `folder/upper`, with
`folder/spare` for the kernel; `{"end": path}` ends what is mounted there. The first line out says whether
it could begin.
"""

import ctypes
import json
import os
import sys

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 0x40000, 2

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve until stdin ends."""
    say(enter)
    for line in sys.stdin:
        order = json.loads(line)
        if "end" in order:
            say(lambda order=order: check(libc.umount2(os.fsencode(order["end"]), MNT_DETACH)))
        else:
            say(lambda order=order: show(order["lowers"], order["folder"]))


def say(step) -> None:  # type: ignore[no-untyped-def]
    """Do it, and say how that went."""
    fault = ""
    try:
        step()
    except OSError as error:
        fault = str(error)
    sys.stdout.write(fault + "\n")
    sys.stdout.flush()


def enter() -> None:
    """Namespaces of our own, in which an ordinary user may mount; nothing that is mounted there is seen elsewhere."""
    uid, gid = os.geteuid(), os.getegid()
    check(libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)))
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib would cost as much as the rest
                file.write(text)
    check(libc.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None))


def show(lowers: list[str], folder: str) -> None:
    """Mount them. Paths are given as descriptors: no character of a path means anything then, and options stay short.

    `volatile`: what is written is not synced when the mount ends, which would wait for everything else on that disk.
    The kernel never mounts with the spare folder again, so that of the sandbox is another.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    below = [os.open(lower, flags) for lower in reversed(lowers)]
    own = os.open(folder, flags)
    try:
        lowerdir = ":".join(f"/proc/self/fd/{descriptor}" for descriptor in below)
        place = f"/proc/self/fd/{own}"
        options = f"lowerdir={lowerdir},upperdir={place}/upper,workdir={place}/spare,userxattr,volatile"
        check(libc.mount(b"overlay", f"{place}/view".encode(), b"overlay", ctypes.c_ulong(0), options.encode()))
    finally:
        for descriptor in (*below, own):
            os.close(descriptor)


def check(result: int) -> None:
    """Raise the error of a C call that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
