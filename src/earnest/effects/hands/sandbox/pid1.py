"""What runs as pid 1 inside a sandbox: it takes one job, watches over it, ends everything and reports.

A program of its own (`python -I -S`), and a quick one to start: it imports only what it cannot do without, hence
`_signal` and `_ctypes` instead of the modules above them. The other side imports it for its constants alone.

Channel (descriptor 0, a stream socket): in comes the length (8 bytes, little endian) of the program to have ready (0:
none) and the program (marshal, from the same interpreter), which may make this a zygote. `+` goes out when it waits.
In comes the length of the job, the job (marshal), then the bytes of its files and of stdin, and if the job is joined to
another one byte with the two descriptors of its pipes. Out goes, if the job wants it, now and then the newest of what
the command put out: a line of `>`, 1 or 2, how many bytes before it are left out and its size; then it. In the end out
goes one line of integers, `FIELDS` and the size of each artifact (-1: not there or not acceptable), then stdout,
stderr, the problem, what `tracing.py` saw of the processes (nothing if they were not traced) and the artifacts. A
closed channel ends everything, because a pid namespace dies with its pid 1.

It keeps out of reach of what it watches: undumpable, so that nobody opens its memory or its descriptors through
/proc; without signal handlers, because the kernel drops a signal to pid 1 that has none; and what it reports it
measured itself.
"""

# pathlib would cost as much as the rest of the start.
# ruff: noqa: PTH103, PTH120, PTH123, PTH211

import _ctypes
import _frozen_importlib
import _signal  # type: ignore[import-not-found]
import marshal
import os
import resource
import select
import stat
import sys
import time

from earnest.effects.hands.sandbox.census import Census

TYPE_CHECKING = False  # the module of that name would cost as much again
if TYPE_CHECKING:
    from earnest.effects.hands.sandbox.tracing import Gate, Tracer

PASSED = ("timed_out", "memory_exceeded", "cpu_exceeded", "output_exceeded", "disk_exceeded", "processes_exceeded")
MEASURED = ("leftovers", "cpu_ms", "wall_ms", "memory_peak_bytes")
BLOBS = ("stdout", "stderr", "problem", "processes")  # of these the sizes
FIELDS = ("exit_code", *PASSED, *MEASURED, *BLOBS)
NO_EXIT = 1 << 20  # in place of an exit code: the main process did not end by itself

CHANNEL = 0
CHUNK_BYTES = 1 << 18
TICK_MS = 10
SAMPLE_SHARE = 8  # looking at the processes takes at most one part in this many of the time
GRACE_MS = 100  # for helpers that end on their own once they see the main process gone
TELL_TICK_MS = 100
TOLD_BYTES_MAX = 4_096  # of one stream at a time
FOLDER_TICK_MS = 200
FOLDER_SHARE = 20  # looking at a bound folder takes at most one part in this many of the time
FOLDER_ENTRIES_MAX = 200_000
INODES_MAX = 50_000  # of one in-memory file system; each costs about a KiB that no size limit counts
ADDRESS_SLACK_BYTES = 16 << 30  # interpreters reserve far more addresses than they use
TASKS_SLACK = 64  # RLIMIT_NPROC counts threads; the count of processes is ours
SIGKILL, SIGINT, SIGPIPE, SIGXFSZ = 9, 2, 13, 25
DEFAULT_ACTION = 0
PR_SET_DUMPABLE = 4
COMMAND_NOT_RUN = 127
DESCRIPTORS_MAX = 4096
LIBRARY = "/run/earnest/library"
WALL = 0x40000000  # of what is traced, wait for threads and for children of clone, too
MEMORY_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108


def main() -> None:
    """Serve one job. Any failure of our own ends pid 1 without a report, which is never taken for success."""
    ready = load_program(receive_sized())  # in a zygote: for each of its boxes
    harden()
    os.write(CHANNEL, b"+")
    job = marshal.loads(receive_sized())  # noqa: S302
    try:
        place_files(job["files"])
        stdin = receive(job["stdin"])
    except OSError as error:
        send_report({}, (b"", b"", f"the work does not fit: {error.strerror}".encode(), b""), [])
        return
    watch = Watch(job, stdin, ready if job["program"] else None)
    watch.start()
    watch.follow()
    watch.finish()
    send(watch.untold)
    artifacts = collect(job["artifacts"], watch.limit["file_bytes"], watch.limit["disk_bytes"])
    processes = watch.tracer.report() if watch.tracer else b""
    send_report(watch.seen, (bytes(watch.output[0]), bytes(watch.output[1]), b"", processes), artifacts)
    os._exit(0)  # no interpreter needs tidying here


def harden() -> None:
    """Become unreadable for what will run here, and deaf to its signals."""
    dumpable(0)
    _signal.signal(SIGINT, DEFAULT_ACTION)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.umask(0o022)


def dumpable(value: int) -> None:
    """May others of our uid look at this process? Also decides who owns its /proc."""
    library = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]
    function = _ctypes.dlsym(library, "prctl")
    if _ctypes.call_function(function, (PR_SET_DUMPABLE, value, 0, 0, 0)) != 0:
        sys.exit("prctl failed")


class Bundle:
    """Imports the modules of a program from memory; their files are only names."""

    def __init__(self, modules: dict[str, tuple[bool, bytes]]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:  # noqa: ARG002
        """See `importlib.abc.MetaPathFinder`."""
        found = self.modules.get(name)
        if found is None:
            return None
        place = f"{LIBRARY}/{name.replace('.', '/')}" + ("/__init__.py" if found[0] else ".py")
        spec = _frozen_importlib.ModuleSpec(
            name,
            self,  # type: ignore[arg-type]
            origin=place,
            is_package=found[0],
        )
        spec.has_location = True
        return spec

    def create_module(self, spec: object) -> None:
        """See `importlib.abc.Loader`."""

    def exec_module(self, module: object) -> None:
        """See `importlib.abc.Loader`."""
        exec(marshal.loads(self.modules[module.__name__][1]), vars(module))  # type: ignore[attr-defined]  # noqa: S102, S302


def load_program(data: bytes) -> object:
    """The `main` of the program that shall be ready, or None."""
    if not data:
        return None
    program = marshal.loads(data)  # noqa: S302
    sys.meta_path.insert(0, Bundle(program["modules"]))  # type: ignore[arg-type]
    for name in (*program["imports"], program["entry"]):
        __import__(name)
    main = sys.modules[program["entry"]].main
    if program["zygote"]:
        name, *arguments = program["zygote"]
        __import__(name)
        sys.modules[name].serve(*arguments)
    return main


def receive_sized() -> bytes:
    """A length and so many bytes."""
    return receive(int.from_bytes(receive(8), "little"))


def receive_pipes() -> tuple[int, int]:
    """What joins this job to another: a descriptor to read and one to write."""
    import _socket  # noqa: PLC0415 - not every job pays for it

    channel = _socket.socket(fileno=CHANNEL)
    _, ancillary, _, _ = channel.recvmsg(1, _socket.CMSG_SPACE(8))
    channel.detach()
    if not ancillary:
        os._exit(0)
    data = ancillary[0][2]
    return int.from_bytes(data[:4], sys.byteorder), int.from_bytes(data[4:8], sys.byteorder)


def receive(size: int) -> bytes:
    """Exactly `size` bytes of the channel."""
    parts = []
    while size > 0:
        part = os.read(CHANNEL, min(size, CHUNK_BYTES))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(data: bytes) -> None:
    """All of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(CHANNEL, view[:CHUNK_BYTES]) :]


def place_files(files: list[tuple[str, int, int, str]]) -> None:
    """Fill /work: (path, mode, size, link target); a size of -1 marks a folder, of -2 a link. Links come last.

    Raises `OSError` when something does not fit, after all of the content has been taken in: its sender waits for that.
    """
    fault: OSError | None = None
    for path, mode, size, target in files:
        place = "/work/" + path
        try:
            os.makedirs(place if size == -1 else os.path.dirname(place), exist_ok=True)
            if size == -2:
                os.symlink(target, place)
        except OSError as error:
            fault = fault or error
        fault = place_content(place, mode, size, fault)
    if fault is not None:
        raise fault


def place_content(place: str, mode: int, size: int, fault: OSError | None) -> OSError | None:
    """Write one file from the channel, or only take its content in if there was a fault already."""
    if size < 0:
        return fault
    descriptor = -1
    for start in range(0, size, CHUNK_BYTES) or (0,):
        part = receive(min(size - start, CHUNK_BYTES))
        try:
            if fault is None and descriptor < 0:
                descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
            while part and fault is None:
                part = part[os.write(descriptor, part) :]
        except OSError as error:
            fault = error
    if descriptor >= 0:
        os.close(descriptor)
    return fault


class Watch:
    """One command and everything that comes of it."""

    def __init__(self, job: dict[str, object], stdin: bytes, program: object) -> None:
        self.job = job
        self.program = program
        self.stdin = memoryview(stdin)
        self.limit: dict[str, int] = job["limits"]  # type: ignore[assignment]
        self.output = (bytearray(), bytearray())
        self.seen: dict[str, int] = dict.fromkeys(FIELDS, 0) | {"exit_code": NO_EXIT}
        self.poll = select.poll()
        self.streams: dict[int, bytearray] = {}
        self.main_ended_ns = 0
        self.census = Census()
        self.sample_next_ns = 0
        self.others = 0
        self.folder_start_bytes = 0
        self.folder_next_ns = 0
        self.tracer: Tracer | None = None
        self.signals = -1
        self.told = [0, 0]
        self.untold = b""
        self.tell_next_ns = 0

    def start(self) -> None:
        """Fork the command. What cannot be executed ends with 127 and says why on stderr."""
        out, out_child = os.pipe()
        err, err_child = os.pipe()
        feed_child, feed = os.pipe() if self.stdin else (os.open("/dev/null", os.O_RDONLY), -1)
        if self.job["folder"]:
            self.folder_start_bytes = folder_bytes(self.job["folder"])  # type: ignore[arg-type]
        pipes = receive_pipes() if self.job["cpu"] is not None else ()
        self.began_ns = time.monotonic_ns()
        self.folder_next_ns = self.began_ns + FOLDER_TICK_MS * 1_000_000
        gate = self.gate()
        self.pid = os.fork()
        if self.pid == 0:
            become(self.job, self.program, (feed_child, out_child, err_child, *pipes), gate)
        for descriptor in (feed_child, out_child, err_child, *pipes):
            os.close(descriptor)
        self.streams = {out: self.output[0], err: self.output[1]}
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)
            self.poll.register(descriptor, select.POLLIN)
        self.feed = feed
        if feed >= 0:
            os.set_blocking(feed, False)
            self.poll.register(feed, select.POLLOUT)
        self.main = os.pidfd_open(self.pid)
        self.poll.register(self.main, select.POLLIN)
        self.poll.register(CHANNEL, 0)  # a hang-up is always told
        if gate is not None:
            self.tracer = gate.open(self.pid, (out, err), self.written)

    def gate(self) -> "Gate | None":
        """Where the command waits until it is traced, if it is to be."""
        if not self.job["filter"]:
            return None
        sys.meta_path.insert(0, Bundle({"tracing": (False, self.job["tracing"])}))  # type: ignore[arg-type, dict-item]
        tracing = __import__("tracing")
        self.signals = tracing.ends_descriptor()
        self.poll.register(self.signals, select.POLLIN)
        gate: Gate = tracing.Gate(self.job["filter"])
        return gate

    def written(self) -> tuple[int, int]:
        """How much of stdout and stderr there is now."""
        for descriptor in list(self.streams):
            self.drain(descriptor)
        return len(self.output[0]), len(self.output[1])

    def follow(self) -> None:
        """Until the main process and its helpers are gone, or a limit is passed."""
        while True:
            for descriptor, _ in self.poll.poll(TICK_MS):
                if descriptor == CHANNEL:
                    os._exit(0)  # whoever asked is gone
                elif descriptor == self.feed:
                    self.write_stdin()
                elif descriptor in self.streams:
                    self.drain(descriptor)
                elif descriptor in {self.main, self.signals}:
                    self.hear(descriptor)
            now_ns = time.monotonic_ns()
            if self.main_ended_ns or now_ns >= self.sample_next_ns:
                self.sample(now_ns)
                took_ns = time.monotonic_ns() - now_ns
                self.sample_next_ns = now_ns + max(TICK_MS * 1_000_000, SAMPLE_SHARE * took_ns)
            self.tell(now_ns)
            if any(self.seen[name] for name in PASSED):
                return
            if self.main_ended_ns and (not self.others or now_ns - self.main_ended_ns > GRACE_MS * 1_000_000):
                return

    def tell(self, now_ns: int) -> None:
        """Pass on the newest output as far as it is taken at once: the command and its limits wait for no listener."""
        if not self.job["tell"] or now_ns < self.tell_next_ns:
            return
        self.tell_next_ns = now_ns + TELL_TICK_MS * 1_000_000
        os.set_blocking(CHANNEL, False)
        try:
            for at, kept in enumerate(self.output):
                if not self.untold and len(kept) > self.told[at]:
                    part = bytes(kept[max(self.told[at], len(kept) - TOLD_BYTES_MAX) :])
                    left_out = len(kept) - self.told[at] - len(part)
                    self.untold = b"> %d %d %d\n" % (at + 1, left_out, len(part)) + part
                    self.told[at] = len(kept)
                while self.untold:
                    self.untold = self.untold[os.write(CHANNEL, self.untold) :]
        except BlockingIOError:
            pass
        except OSError:
            self.untold = b""  # whoever asked is gone, which `follow` is told
        finally:
            os.set_blocking(CHANNEL, True)

    def hear(self, descriptor: int) -> None:
        """The main process has ended, or somebody has stopped or ended who is traced."""
        if descriptor == self.signals:
            os.read(self.signals, CHUNK_BYTES)
            self.reap()
        elif not self.main_ended_ns:
            self.poll.unregister(self.main)
            self.main_ended_ns = time.monotonic_ns()

    def finish(self) -> None:
        """End whatever is left, read what is still in the pipes, and take the last measures."""
        self.seen["leftovers"] = self.others if self.main_ended_ns else 0
        self.seen["wall_ms"] = ((self.main_ended_ns or time.monotonic_ns()) - self.began_ns) // 1_000_000
        while self.reap(wait=True):
            pass
        self.written()
        self.census.take(self.limit["memory_bytes"])
        self.weigh(0)
        self.check_disk(time.monotonic_ns(), last=True)

    def write_stdin(self) -> None:
        """As much as the pipe takes now; a reader that is gone has had enough."""
        try:
            self.stdin = self.stdin[os.write(self.feed, self.stdin[:CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:
            self.stdin = self.stdin[:0]
        if not self.stdin:
            self.poll.unregister(self.feed)
            os.close(self.feed)
            self.feed = -1

    def drain(self, descriptor: int) -> None:
        """Take what is there, up to the limit and no further."""
        kept = self.streams[descriptor]
        while True:
            try:
                part = os.read(descriptor, CHUNK_BYTES)
            except BlockingIOError:
                return
            room = self.limit["output_bytes"] - len(kept)
            kept += part[:room]
            if len(part) > room:
                self.seen["output_exceeded"] = 1
                return
            if not part:
                self.poll.unregister(descriptor)
                del self.streams[descriptor]
                os.close(descriptor)
                return

    def reap(self, *, wait: bool = False) -> bool:
        """Bury the dead (with `wait`: kill all and bury one). False if there is nobody left."""
        while True:
            try:
                if wait:
                    kill_all()
                pid, status = os.waitpid(-1, (0 if wait else os.WNOHANG) | (WALL if self.tracer else 0))
            except ChildProcessError:
                return False
            if self.tracer and pid and self.tracer.goes_on(pid, status):
                if wait:
                    return True
                continue
            if pid == self.pid and self.main_ended_ns:
                self.seen["exit_code"] = os.waitstatus_to_exitcode(status)
            elif pid == self.pid and not wait:
                self.main_ended_ns = time.monotonic_ns()
                self.poll.unregister(self.main)
                self.seen["exit_code"] = os.waitstatus_to_exitcode(status)
            if wait or pid == 0:
                return True

    def sample(self, now_ns: int) -> None:
        """Sum up all processes and compare with the limits."""
        self.reap()
        if self.tracer:
            self.tracer.settle()
        self.census.take(self.limit["memory_bytes"])
        self.others = self.census.count - (0 if self.main_ended_ns else 1)
        self.weigh(self.census.memory_bytes)
        if self.census.count > self.limit["processes"]:
            self.seen["processes_exceeded"] = 1
        if now_ns - self.began_ns > self.limit["wall_ms"] * 1_000_000 and not self.main_ended_ns:
            self.seen["timed_out"] = 1
        self.check_disk(now_ns)

    def weigh(self, memory_bytes: int) -> None:
        """CPU of the living and the dead, and memory: of the living as given, of each of the dead at its peak."""
        peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.seen["cpu_ms"] = max(self.seen["cpu_ms"], self.census.cpu_us // 1000)
        self.seen["memory_peak_bytes"] = max(self.seen["memory_peak_bytes"], memory_bytes, peak_bytes)
        if self.seen["cpu_ms"] > self.limit["cpu_ms"]:
            self.seen["cpu_exceeded"] = 1
        if self.seen["memory_peak_bytes"] > self.limit["memory_bytes"]:
            self.seen["memory_exceeded"] = 1

    def check_disk(self, now_ns: int, *, last: bool = False) -> None:
        """In-memory file systems at every sample, a bound folder less often, for it has to be walked."""
        folders = MEMORY_FOLDERS if self.job["folder"] else ("/work", *MEMORY_FOLDERS)
        used_bytes = 0
        for folder in folders:
            status = os.statvfs(folder)
            used_bytes += (status.f_blocks - status.f_bfree) * status.f_frsize
            if status.f_files - status.f_ffree > INODES_MAX:
                self.seen["disk_exceeded"] = 1
        if self.job["folder"] and (last or now_ns >= self.folder_next_ns):
            self.folder_grown_bytes = folder_bytes(self.job["folder"]) - self.folder_start_bytes  # type: ignore[arg-type]
            took_ns = time.monotonic_ns() - now_ns
            self.folder_next_ns = now_ns + max(FOLDER_TICK_MS * 1_000_000, FOLDER_SHARE * took_ns)
            used_bytes += self.folder_grown_bytes
        if used_bytes > self.limit["disk_bytes"]:
            self.seen["disk_exceeded"] = 1


def become(job: dict[str, object], program: object, descriptors: tuple[int, ...], gate: "Gate | None") -> None:
    """In the child: its descriptors, the limits of the kernel, and the command or program. Never returns."""
    limit: dict[str, int] = job["limits"]  # type: ignore[assignment]
    try:
        if gate is not None:
            gate.wait()
        os.setsid()
        place_descriptors(descriptors)
        if job["cpu"] is not None:
            os.sched_setaffinity(0, {job["cpu"]})  # type: ignore[arg-type]
        for signal in (SIGPIPE, SIGXFSZ):
            _signal.signal(signal, DEFAULT_ACTION)
        cpu_s = limit["cpu_ms"] // 1000 + 2
        for name, value in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, cpu_s),
            (resource.RLIMIT_FSIZE, limit["file_bytes"]),
            (resource.RLIMIT_NOFILE, limit["open_files"]),
            (resource.RLIMIT_AS, limit["memory_bytes"] + ADDRESS_SLACK_BYTES),
            (resource.RLIMIT_NPROC, 4 * limit["processes"] + TASKS_SLACK),
            (resource.RLIMIT_MEMLOCK, 1 << 16),
        ):
            hard = resource.getrlimit(name)[1]
            bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (bound, bound))
        os.chdir("/work")
        argv: list[bytes] = job["argv"]  # type: ignore[assignment]
        if program is not None:
            dumpable(1)
            os._exit(run_program(program, argv, job["environment"]))  # type: ignore[arg-type]
        os.execvpe(argv[0], argv, job["environment"])  # type: ignore[arg-type]  # noqa: S606
    except BaseException as error:
        os.write(2, f"cannot run: {error}\n".encode(errors="replace"))
    os._exit(COMMAND_NOT_RUN)


def place_descriptors(descriptors: tuple[int, ...]) -> None:
    """Make them 0, 1, 2 and so on, and close every other."""
    count = len(descriptors)
    moved = []
    for descriptor in descriptors:
        at = descriptor
        while at < count:
            at = os.dup(at)
        moved.append(at)
    for number, descriptor in enumerate(moved):
        os.dup2(descriptor, number)
    os.closerange(count, DESCRIPTORS_MAX)


def run_program(program: object, argv: list[bytes], environment: dict[str, str]) -> int:
    """Its exit code. An exception ends it with 1 and a trace on stderr, like that of any program."""
    os.environ.clear()
    os.environ.update(environment)
    sys.path += filter(None, environment.get("PYTHONPATH", "").split(":"))
    try:
        return int(program([os.fsdecode(argument) for argument in argv]))  # type: ignore[operator]
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()


def kill_all() -> None:
    """Everything in this pid namespace but us."""
    try:
        os.kill(-1, SIGKILL)
    except ProcessLookupError:
        return


def folder_bytes(folder: str) -> int:
    """What the files below a folder take on disk. One with too many entries counts as endless."""
    total = entries = 0
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    entries += 1
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    total += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(entry.path)
        except OSError:
            continue
        if entries > FOLDER_ENTRIES_MAX:
            return 1 << 60
    return total


def collect(paths: list[str], file_bytes: int, total_bytes: int) -> list[bytes | None]:
    """The artifacts that are acceptable, in order; None for each that is not."""
    found: list[bytes | None] = []
    for path in paths:
        content = read_artifact(path, min(file_bytes, total_bytes))
        total_bytes -= len(content or b"")
        found.append(content)
    return found


def read_artifact(path: str, size_max: int) -> bytes | None:
    """A regular file with one name that is reached without any link; else None."""
    *folders, name = path.split("/")
    at = os.open("/work", os.O_PATH | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    except OSError:
        return None
    finally:
        os.close(at)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > size_max:
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read(size_max)


def send_report(seen: dict[str, int], blobs: tuple[bytes, bytes, bytes, bytes], artifacts: list[bytes | None]) -> None:
    """The line of numbers and what they measure: stdout, stderr, the problem, the processes, and the artifacts."""
    numbers = dict.fromkeys(FIELDS, 0) | {"exit_code": NO_EXIT} | seen
    numbers |= zip(BLOBS, map(len, blobs), strict=True)
    line = [numbers[name] for name in FIELDS] + [-1 if item is None else len(item) for item in artifacts]
    send(" ".join(map(str, line)).encode() + b"\n")
    for blob in (*blobs, *artifacts):
        send(blob or b"")


if __name__ == "__main__":
    main()
