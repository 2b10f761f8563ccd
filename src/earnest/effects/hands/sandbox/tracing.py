"""The status of every process of a command, seen by tracing: it comes to `pid1.py` with a job that wants it.

Every fork, clone and exec stops for us, and every end is told to us before the parent hears of it. At each of these
moments the output that was written so far is read, so that its length then says which bytes appeared while which
process lived. A program that replaces another begins a new image, for it is images that have a program and an end.
What is traced cannot leave: it may neither trace nor make a child that is not traced (`seccomp.child_filter_bytes`).

Written for the report, a line an image: parent (-1: none), status (`-`: replaced, or not ended), length of stdout and
stderr at its start and at its end, 1 for each of the two that a descriptor of it led to, then in hexadecimal its
program (empty: none was executed), its words, where its first three descriptors led, and further pipes.
"""

# pathlib would cost as much as the rest of the start.
# ruff: noqa: PTH115, PTH123, PTH208

import _ctypes
import _signal  # type: ignore[import-not-found]
import os
import sys
from _collections_abc import Callable

IMAGES_MAX = 2_000
PIPES_MAX = 16
UNKNOWN_END = 255
WORD_BYTES_MAX = 200
WORDS_BYTES_MAX = 400
WALL = 0x40000000  # wait for threads and for children of clone, too
SEIZE, CONT, LISTEN, GETEVENTMSG = 0x4206, 7, 0x4208, 0x4201
OPTIONS = 0x2 | 0x4 | 0x8 | 0x10 | 0x100000  # fork, vfork, clone, exec; all die with us
EVENT_EXEC, EVENT_STOP = 4, 128
BIRTHS = (1, 2, 3)
GROUP_STOPS = (19, 20, 21, 22)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
SIGCHLD = 17
SFD_NONBLOCK_CLOEXEC = 0o2004000
PR_SET_DUMPABLE, PR_SET_SECCOMP, MODE_FILTER = 4, 22, 2

LIBRARY = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]


class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - ctypes itself costs too much
    """A machine word, signed."""

    _type_ = "l"


class Bytes(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001
    """A pointer to bytes."""

    _type_ = "z"


def call(name: str, *arguments: object) -> int:
    """A function of the C library; -1 if it failed."""
    return int(_ctypes.call_function(_ctypes.dlsym(LIBRARY, name), arguments))


def ptrace(request: int, pid: int, data: object = 0) -> int:
    """ptrace(2); -1 also if the process is gone, whose end is then still to be told."""
    last = Long(data) if isinstance(data, int) else data
    return call("ptrace", Long(request), Long(pid), Long(0), last)


class Gate:
    """Where a child waits until it is traced."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.ready = os.pipe()
        self.opened = os.pipe()

    def wait(self) -> None:
        """In the child: let itself be seized, then go on under the filter. Raises `OSError`."""
        call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
        os.write(self.ready[1], b"+")
        os.read(self.opened[0], 1)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
        code = Bytes(self.code)
        program = (len(self.code) // 8).to_bytes(2, sys.byteorder) + bytes(6) + bytes(code)  # struct sock_fprog
        if call("prctl", PR_SET_SECCOMP, MODE_FILTER, program, 0, 0) != 0:
            raise OSError(1, "no system call filter")

    def open(self, pid: int, streams: tuple[int, int], drain: Callable[[], tuple[int, int]]) -> "Tracer | None":
        """Seize the child, which is then let go: what follows it from now on; None if the kernel forbids it."""
        os.close(self.ready[1])
        os.read(self.ready[0], 1)
        traced = ptrace(SEIZE, pid, OPTIONS) == 0
        os.write(self.opened[1], b"+")
        for descriptor in (self.ready[0], *self.opened):
            os.close(descriptor)
        return Tracer(pid, streams, drain) if traced else None


class Image:
    """A process from a fork or an exec to its end or its next exec."""

    def __init__(self, number: int, parent: int, at: tuple[int, int]) -> None:
        self.number = number
        self.parent = parent
        self.start = at
        self.end = at
        self.status: int | None = None
        self.holds = (1, 1)  # unless we could look
        self.program = self.words = b""
        self.files = [b"", b"", b""]

    def look(self, pid: int, streams: dict[bytes, int]) -> None:
        """At the stop of an exec: what runs, with which words, and where its descriptors lead.

        A program that may be executed but not read keeps us out: it stays without a name.
        """
        try:
            self.program = os.readlink(b"/proc/%d/exe" % pid)[:WORD_BYTES_MAX]
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                self.words = words.read(WORDS_BYTES_MAX)
            folder = b"/proc/%d/fd/" % pid
            led = {int(name): os.readlink(folder + name) for name in os.listdir(folder)}
        except OSError:
            return
        pipes = [place for number, place in led.items() if number > 2 and place.startswith(b"pipe:")]
        self.files = [name_of(led.get(number, b""), streams) for number in range(3)] + pipes[:PIPES_MAX]
        held = {streams.get(place) for place in led.values()}
        self.holds = (int(0 in held), int(1 in held))

    def line(self) -> bytes:
        """See the file's beginning."""
        status = b"-" if self.status is None else b"%d" % self.status
        numbers = [b"%d" % each for each in (*self.start, *self.end, *self.holds)]
        texts = [text.hex().encode() or b"-" for text in (self.program, self.words, *self.files)]
        return b" ".join((b"%d" % self.parent, status, *numbers, *texts))


def name_of(place: bytes, streams: dict[bytes, int]) -> bytes:
    """Where a descriptor leads; the call's own output by name."""
    number = streams.get(place)
    return place[:WORD_BYTES_MAX] if number is None else (b"stdout", b"stderr")[number]


class Tracer:
    """Follows a seized process and all that comes of it. `drain` reads what was put out and gives both lengths."""

    def __init__(self, pid: int, streams: tuple[int, int], drain: Callable[[], tuple[int, int]]) -> None:
        self.streams = {b"pipe:[%d]" % os.fstat(stream).st_ino: number for number, stream in enumerate(streams)}
        self.drain = drain
        self.images: list[Image] = []
        self.now: dict[int, Image] = {}  # process → its image
        self.threads: dict[int, int] = {pid: pid}  # task → its process
        self.early: set[int] = set()  # stopped before their birth was told
        self.stale: set[int] = set()
        self.now[pid] = self.begin(-1)

    def begin(self, parent: int) -> Image:
        """A new image. Past the bound there is one for all of them, and what appears from then on proves nothing."""
        if len(self.images) <= IMAGES_MAX:
            self.images.append(Image(len(self.images), parent, self.drain()))
        return self.images[-1]

    def goes_on(self, pid: int, status: int) -> bool:
        """Deal with what was told of a process, and let it go on. False if it has ended."""
        if not os.WIFSTOPPED(status):
            self.end(pid, status)
            return False
        signal, event = os.WSTOPSIG(status), status >> 16
        if pid not in self.threads:
            self.early.add(pid)
            return True
        if event in BIRTHS:
            self.born(pid, message(pid))
        elif event == EVENT_EXEC:
            self.replaced(pid, message(pid))
        if event == EVENT_STOP and signal in GROUP_STOPS:
            ptrace(LISTEN, pid)
        else:
            ptrace(CONT, pid, 0 if event else signal)
        return True

    def settle(self) -> None:
        """Let go those whose birth was not told since we were here, their maker being killed: nobody's children."""
        for pid in self.stale & self.early:
            self.born(0, pid)
        self.stale = set(self.early)

    def born(self, maker: int, pid: int) -> None:
        """A process or thread has come of `maker`."""
        if pid == 0 or pid in self.threads:
            return
        process = process_of(pid)
        maker = self.threads.get(maker, 0)
        if process != pid and process in self.now:
            self.threads[pid] = process
        else:
            self.threads[pid] = pid
            parent = self.now.get(maker)
            self.now[pid] = self.begin(parent.number if parent else -1)
        if pid in self.early:
            self.early.remove(pid)
            ptrace(CONT, pid)

    def replaced(self, pid: int, former: int) -> None:
        """The process runs another program now; only the thread that asked for it is left, under the process's id."""
        if former != pid:
            self.threads.pop(former, None)
        old = self.now[pid]
        new = self.begin(old.number)
        old.end = new.start
        new.look(pid, self.streams)
        self.now[pid] = new

    def end(self, pid: int, status: int) -> None:
        """A process or thread is gone."""
        self.early.discard(pid)
        if self.threads.pop(pid, None) == pid:
            image = self.now.pop(pid)
            image.end = self.drain()
            image.status = os.waitstatus_to_exitcode(status)

    def report(self) -> bytes:
        """Every image; those that nobody has seen end have lived to the last byte."""
        last = self.drain()
        for image in self.now.values():
            image.end = last
        for image in self.images[IMAGES_MAX:]:
            image.__init__(image.number, -1, image.start)  # type: ignore[misc]
            image.end, image.status, image.words = last, UNKNOWN_END, b"too many processes"
        return b"\n".join(image.line() for image in self.images)


def message(pid: int) -> int:
    """What the kernel says of the event at which a process has stopped; 0 if it is gone."""
    word = Long(0)
    return int(word.value) if ptrace(GETEVENTMSG, pid, _ctypes.byref(word)) == 0 else 0


def process_of(task: int) -> int:
    """The process that a thread belongs to; itself if it is gone."""
    try:
        with open(f"/proc/{task}/status", "rb") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(b"Tgid:"))
    except (OSError, StopIteration):
        return task


def ends_descriptor() -> int:
    """A descriptor that can be read as soon as a process has stopped or ended. Without a handler we stay deaf."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [SIGCHLD])
    mask = (1 << (SIGCHLD - 1)).to_bytes(128, "little")
    return call("signalfd", -1, mask, SFD_NONBLOCK_CLOEXEC)
