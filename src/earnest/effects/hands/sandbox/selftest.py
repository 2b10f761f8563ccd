"""The sandbox's self-test: attacks from inside, against canaries that this file puts up outside."""

import asyncio
import contextlib
import errno
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox import attack as attacks
from earnest.effects.hands.sandbox.api import (
    MIB,
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Probe,
    Profile,
)
from earnest.effects.hands.sandbox.launcher import CANARY_VARIABLE, Launcher
from earnest.effects.hands.scratch import scratch
from earnest.foundation.errors import EarnestError

TEST_MS: Final = 20_000
NO_ZYGOTES: Final = "no box can start another, so that every check of code takes longer: {}"
UNTRACED: Final = "the kernel lets nobody trace: of a command line with several parts nothing is believed"
_LIMITS: Final = ExecutionLimits(
    wall_ms=10_000, cpu_ms=5_000, memory_bytes=96 * MIB, processes=8, disk_bytes=16 * MIB, output_bytes=16 * 1024
)
_MEMORY_LIMITS: Final = replace(_LIMITS, memory_bytes=48 * MIB)

Run = Callable[[Execution], Awaitable[ExecutionReport]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """What nobody inside may reach. Listening sockets tell afterwards whether somebody did."""

    folder: Path
    abstract: str
    listeners: Mapping[str, socket.socket]

    def reached(self) -> tuple[str, ...]:
        """The canaries that were reached, by name."""
        touched = [name for name, each in self.listeners.items() if _was_reached(each)]
        touched += ["outside file"] if (self.folder / "outside").exists() else []
        return tuple(touched)


async def attack(run: Run, launcher: Launcher, no_zygotes: Callable[[], str]) -> tuple[tuple[Probe, ...], str, str]:
    """Every attack's outcome, why it could not be tried if so, and what is not to be had; takes a few executions.

    `no_zygotes` says afterwards why no zygote could start a box; empty if one started every box that has a program.
    """
    try:
        with _canaries() as canaries:
            async with asyncio.timeout(TEST_MS / 1000):
                probes, traced = await _attack(run, launcher, canaries)
                lacks = ["" if traced else UNTRACED, NO_ZYGOTES.format(why) if (why := no_zygotes()) else ""]
                tried = tuple(one for one in probes if not (why and one.held and attacks.is_by_zygote(one)))
                return tried, "", "; ".join(filter(None, lacks))
    except (EarnestError, OSError, TimeoutError) as error:
        return (), f"the self-test could not be run: {error or type(error).__name__}", ""


async def _attack(run: Run, launcher: Launcher, canaries: Canaries) -> tuple[tuple[Probe, ...], bool]:
    """What came of it, and whether processes could be traced."""
    canary = await launcher.start_canary()
    try:
        pid = await canary.started
        inside = [_isolation(canaries, pid), _program(attacks.MEMORY, limits=_MEMORY_LIMITS), _program(attacks.DISK)]
        by_zygote, traced, reports = await asyncio.gather(
            _in_turn(run, [replace(one, program=attacks.EXECUTES) for one in inside]),
            run(_program(attacks.TRACING + attacks.DAEMON, profile=Profile.WORK, work=canaries.folder / "work")),
            asyncio.gather(*map(run, inside)),
        )
        alive = not canary.ended.done() and _is_alive(pid)
    finally:
        await launcher.end(canary)
    outside = (canaries.reached(), alive)
    probes = (
        *_judge(reports, launcher.secret, outside),
        *(replace(one, name=one.name + attacks.BY_ZYGOTE) for one in _judge(by_zygote, launcher.secret, outside)),
        *_judge_answers(traced, attacks.TRACING_NAMES),
        _probe("leave a daemon behind uncounted", traced, held=traced.leftovers == 1),
        _probe("leave a daemon alive", traced, held=_nobody_reads(canaries.folder / "work" / "pipe")),
    )
    return probes, bool(traced.processes)


async def _in_turn(run: Run, executions: Sequence[Execution]) -> list[ExecutionReport]:
    """One after the other: a zygote has one box at a time, and one zygote starts them all."""
    return [await run(one) for one in executions]


def _judge(reports: Sequence[ExecutionReport], secret: str, outside: tuple[tuple[str, ...], bool]) -> Iterator[Probe]:
    """What the attacker says counts against the sandbox at once, and for it only if nothing outside says otherwise.

    `outside`: which canaries were reached, and whether the process among them lives.
    """
    isolation, memory, disk = reports
    yield from _judge_answers(isolation, attacks.ISOLATION_NAMES)
    reached, alive = ", ".join(outside[0]), outside[1]
    yield Probe(name="touch a canary", held=not reached, detail=reached)
    yield Probe(name="kill a canary", held=alive)
    leaked = secret.encode() in isolation.stdout + isolation.stderr
    yield Probe(name="carry a secret out", held=not leaked)
    yield _probe("more processes than allowed", isolation, held=isolation.processes_exceeded)
    yield _probe("more memory than allowed", memory, held=memory.memory_exceeded)
    yield _probe("more disk than allowed", disk, held=disk.disk_exceeded)


def _judge_answers(report: ExecutionReport, names: tuple[str, ...]) -> Iterator[Probe]:
    answers = dict(line.rpartition("=")[::2] for line in report.stdout.decode(errors="replace").splitlines())
    for name in names:
        answer = answers.get(name, "not tried")
        yield Probe(name=name, held=answer == "held", detail="" if answer == "held" else _detail(answer, report))


def _probe(name: str, report: ExecutionReport, *, held: bool) -> Probe:
    begun = report.status is not ExecutionStatus.REFUSED
    return Probe(name=name, held=held and begun, detail="" if held and begun else _detail(str(report.status), report))


def _detail(answer: str, report: ExecutionReport) -> str:
    said = report.stderr[-500:].decode(errors="replace").strip()
    return "; ".join(part for part in (answer, report.reason, said) if part)


def _program(
    source: str,
    *arguments: str,
    profile: Profile = Profile.VERIFY,
    work: Path | None = None,
    limits: ExecutionLimits = _LIMITS,
) -> Execution:
    argv = ("python", "-I", "-S", "-c", source, *arguments)
    return Execution(profile=profile, argv=argv, work=work or {}, limits=limits)


def _isolation(canaries: Canaries, pid: int) -> Execution:
    tcp, udp, unix, _ = canaries.listeners.values()
    ports = (str(tcp.getsockname()[1]), str(udp.getsockname()[1]))
    places = (str(canaries.folder / "file"), str(canaries.folder / "outside"), CANARY_VARIABLE)
    return _program(
        attacks.ISOLATION + attacks.PROCESSES, *places, *ports, unix.getsockname(), canaries.abstract, str(pid)
    )


@contextlib.contextmanager
def _canaries() -> Iterator[Canaries]:
    """Put them up, readable and reachable for every uid of this machine, and take them away."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch("canary", short=True))
        folder.chmod(0o777)
        (folder / "work").mkdir()
        (folder / "file").write_text("canary")
        abstract = "earnest-canary-" + secrets.token_hex(8)
        listeners = {}
        for name, family, kind, address in (
            ("TCP socket", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("UDP socket", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("Unix socket", socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
            ("abstract socket", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
        ):
            listener = stack.enter_context(socket.socket(family, kind))
            listener.bind(address)
            listener.setblocking(False)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            listeners[name] = listener
        (folder / "socket").chmod(0o777)
        yield Canaries(folder=folder, abstract=abstract, listeners=listeners)


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(1)
        else:
            listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    """A process that is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return False
    return state not in (b"Z", b"X")


def _nobody_reads(pipe: Path) -> bool:
    """True if the named pipe exists and no living process holds its reading end."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
    except OSError as error:
        return error.errno == errno.ENXIO
    return False
