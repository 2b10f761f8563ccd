"""A leash: a small process between us and a program of somebody else's, which is gone soon after us, however we end.

Run as a script (`python -I -S leash.py OUR-PID PROGRAM ...`) in a process group of its own. When we are killed, the
kernel tells the leash, which kills the group; when the leash is killed, the kernel kills the program. It ends as the
program does.
"""

import errno
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
COMMAND_NOT_RUN = 127


def leashed(words: Sequence[str], search_path: str | None = None, folder: Path | None = None) -> list[str]:
    """The command line that runs a program on a leash of ours, to be started in `folder`, as a session of its own.

    Raises `FileNotFoundError` where there is no such program.
    """
    if sys.platform != "linux":
        return list(words)
    named = str(Path(folder or "").absolute() / words[0]) if "/" in words[0] else words[0]
    program = shutil.which(named, path=search_path)
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), program, *words[1:]]


def _end_with_parent(parent: int, number: signal.Signals) -> None:
    """Have the kernel send this when our parent ends, and send it ourselves if it has ended already."""
    import ctypes  # noqa: PLC0415 - the platform does without

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def _become(parent: int, words: list[str], mask: set[signal.Signals]) -> None:
    try:
        _end_with_parent(parent, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execv(words[0], words)  # noqa: S606 - the program that is wanted
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode(errors="replace"))
    os._exit(COMMAND_NOT_RUN)


def main() -> None:
    """Hold the leash until one of both has ended."""
    parent, words = int(sys.argv[1]), sys.argv[2:]
    heard = {signal.SIGCHLD, signal.SIGUSR1}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*heard, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    mask = {signal.Signals(number) for number in before}
    _end_with_parent(parent, signal.SIGUSR1)
    own = os.getpid()
    child = os.fork()
    if child == 0:
        _become(own, words, mask)
    os.closerange(0, 3)  # the program's pipes are the program's
    while True:
        if signal.sigwait(heard) is signal.SIGUSR1:
            os.killpg(0, signal.SIGKILL)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                signal.pthread_sigmask(signal.SIG_SETMASK, set())
                os.kill(own, -code)  # a core, if there is one, was written by the program
            os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
