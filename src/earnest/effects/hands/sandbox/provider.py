"""Bubblewrap as the sandbox for code of strangers, behind a self-test that must be green."""

import asyncio
import contextlib
import itertools
import os
import tempfile
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox import bubblewrap, private, wire
from earnest.effects.hands.sandbox.api import (
    SELF_TEST_VALID_MS,
    WORK_DIR,
    Execution,
    ExecutionReport,
    ExecutionStatus,
    Layers,
    Mount,
    Profile,
    SandboxSettings,
    SelfTest,
)
from earnest.effects.hands.sandbox.attack import EXECUTES, is_by_zygote
from earnest.effects.hands.sandbox.bubblewrap import Shape
from earnest.effects.hands.sandbox.host import Host
from earnest.effects.hands.sandbox.kept import KeptTest
from earnest.effects.hands.sandbox.launcher import Box, Launcher
from earnest.effects.hands.sandbox.pool import PLAIN, Pool
from earnest.effects.hands.sandbox.seccomp import child_filter_bytes
from earnest.foundation.errors import EarnestError, Refused, Unavailable

OVERTIME_MS: Final = 5_000  # beyond the wall limit, for starting, copying and collecting
REFILL_QUIET_MS: Final = 20


class BubblewrapSandbox:
    """See `Sandbox`. A box is used once: for one execution, whether it stood ready or was started for it."""

    def __init__(self, settings: SandboxSettings, clock: Clock, host: Host, launcher: Launcher, binary: Path) -> None:
        self._settings = settings
        self._clock = clock
        self._host = host
        self._launcher = launcher
        self._binary = binary
        self._next_cpu = itertools.cycle(sorted(os.sched_getaffinity(0)))
        self._slots = asyncio.Semaphore(settings.slots)
        self._busy = 0
        self._refilling: asyncio.Task[None] | None = None
        self._testing = asyncio.Lock()
        self._tested: SelfTest | None = None
        self._believed_since_ms = 0
        self._cannot_lay = ""
        always = (*settings.masked, Path(tempfile.gettempdir()))  # in the latter: copies of specs and of other work
        self._pool = Pool(launcher, binary, replace(PLAIN, masks=private.system_masks(host, always)), settings.pool)
        self.keep = self._pool.keep
        source = "system" if binary.is_relative_to("/usr") else "wheel"
        self.description = f"{launcher.version(binary)} ({source}, {launcher.mode})"
        home = settings.home
        self._home = home.resolve() if home is not None and home.is_dir() else None
        kept = settings.kept
        self._kept = KeptTest(folder=kept, binary=binary, provider=self.description) if kept else None

    def recall(self) -> bool:
        """Take up the kept self-test; false if there is none that counts."""
        self._believed_since_ms = self._clock.now_ms()
        tested = self._kept.read(self._believed_since_ms) if self._kept else None
        if tested is not None:
            self._believe(tested)
        return tested is not None

    def _believe(self, tested: SelfTest) -> None:
        self._tested = tested
        self._pool.zygotes_hold = tested.green and any(map(is_by_zygote, tested.probes))

    @property
    def ready(self) -> int:
        """How many boxes stand ready, of the kind of which there are fewest."""
        return self._pool.fewest

    async def run(self, execution: Execution) -> ExecutionReport:
        """See `Sandbox`."""
        tested = self._tested or await self.self_test(SELF_TEST_VALID_MS)
        if not tested.green:
            return self._refusal(tested.reason)
        return await self._admit(execution)

    async def self_test(self, max_age_ms: int = 0, /) -> SelfTest:
        """See `Sandbox`."""
        async with self._testing:
            tested = self._tested
            if tested is None or self._clock.now_ms() - self._believed_since_ms >= max_age_ms:
                from earnest.effects.hands.sandbox.selftest import attack  # noqa: PLC0415 - a kept test mostly counts

                probes, problem, lack = await attack(self._admit, self._launcher, lambda: self._pool.no_zygotes)
                self._pool.forget(EXECUTES)
                now_ms = self._believed_since_ms = self._clock.now_ms()
                tested = SelfTest(provider=self.description, at_ms=now_ms, probes=probes, problem=problem, lack=lack)
                self._believe(tested)
                if self._kept is not None:
                    await asyncio.to_thread(self._kept.write, tested)
            return tested

    async def close(self) -> None:
        """See `Sandbox`."""
        if self._refilling is not None:
            self._refilling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._refilling
        await self._launcher.close()
        self._pool.close()

    async def _admit(self, execution: Execution) -> ExecutionReport:
        """Wait for a slot, run; whatever we cannot do is a refusal."""
        async with self._slots:
            self._busy += 1
            try:
                if execution.joined is not None:
                    return await self._execute_joined(execution, execution.joined)
                return await self._execute(execution)
            except (Refused, Unavailable) as error:
                return self._refusal(str(error))
            except OSError as error:
                return self._refusal(f"{error.strerror}: {error.filename}")
            finally:
                self._busy -= 1
                self._refill()

    async def _execute_joined(self, execution: Execution, other: Execution) -> ExecutionReport:
        """Both at once. When one of them cannot be run, the other is ended."""
        cpu = next(self._next_cpu)
        with contextlib.ExitStack() as stack:
            their_in, my_out = wire.pipe(stack)
            my_in, their_out = wire.pipe(stack)
            try:
                async with asyncio.TaskGroup() as group:
                    mine = group.create_task(self._execute(execution, wire.Join(cpu=cpu, reads=my_in, writes=my_out)))
                    theirs = group.create_task(
                        self._execute(other, wire.Join(cpu=cpu, reads=their_in, writes=their_out))
                    )
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
        return replace(mine.result(), joined=theirs.result())

    async def _execute(self, execution: Execution, join: wire.Join | None = None) -> ExecutionReport:
        checked = await self._laid(_checked(execution))
        copied: tuple[wire.WorkEntry, ...] = ()
        if checked.profile is Profile.VERIFY and not isinstance(checked.work, Layers):
            copied = wire.entries(checked.work, checked.limits)
        created = _mountpoints(checked)
        kind = self._shape(checked), checked.program
        try:
            box = await self._pool.take(*kind)
        except Unavailable as error:
            if isinstance(execution.work, Layers) or not isinstance(checked.work, Layers):
                raise
            self._cannot_lay = str(error)  # asked once: from now on folders are copied
            return await self._execute(execution, join)
        over = False
        try:
            async with asyncio.timeout((checked.limits.wall_ms + OVERTIME_MS) / 1000):
                report = await self._converse(box, checked, copied, join)
                over = True
                return report
        except TimeoutError:
            return self._killed("it did not end in time and was killed from outside", timed_out=True)
        except (ConnectionError, EOFError, ValueError):
            return self._killed("pid 1 ended without a report")
        finally:
            await _to_the_end(self._pool.leave(box, kind, reported=over))
            for place in created:
                _remove_if_empty(place)

    async def _laid(self, execution: Execution) -> Execution:
        """A large folder to be judged is laid under /work instead of being copied there, where that can be."""
        work = execution.work
        if execution.profile is Profile.WORK or not isinstance(work, Path) or self._cannot_lay:
            return execution
        is_large = await asyncio.to_thread(wire.is_large, work)
        return replace(execution, work=Layers(lowers=(work.resolve(),))) if is_large else execution

    def _shape(self, execution: Execution) -> Shape:
        hidden: tuple[Path, ...] = ()
        if self._home and (execution.mounts or execution.profile is Profile.WORK):
            hidden = private.private_places(self._home, self._settings.masked)
        work: Path | Layers | None = execution.work if isinstance(execution.work, Layers) else None
        home = None
        if execution.profile is Profile.WORK:
            work = execution.work.resolve() if isinstance(execution.work, Path) else work
            home = None if _is_private(self._home, hidden) else self._home
            strange = (m for m in execution.mounts if not m.is_ours)
            if private_mount := next((m for m in strange if _is_private(m.source, hidden)), None):
                raise Refused("sandbox_mount", f"{private_mount.source} is private: no tool is shown it")
        shown = [(home, home)] if home else []
        shown += [(mount.source, Path(mount.target)) for mount in execution.mounts]
        hidden_below = self._pool.plain.masks
        if execution.hidden and (more := private.system_masks(self._host, execution.hidden)):
            hidden_below = tuple(dict.fromkeys((*hidden_below, *more)))
        shape = Shape(
            disk_bytes=execution.limits.disk_bytes,
            work=work,
            mounts=execution.mounts,
            home=home,
            masks=tuple(
                dict.fromkeys((*hidden_below, *(mask for pair in shown for mask in private.masks(*pair, hidden))))
            ),
            network=execution.network,
        )
        if not shape.lasts:
            return shape
        disk_bytes = max(shape.disk_bytes, PLAIN.disk_bytes)  # of what stands ready, pid 1 keeps to the smaller limit
        return replace(shape, disk_bytes=disk_bytes, inodes=tuple(m.source.stat().st_ino for m in shape.mounts))

    async def _converse(
        self, box: Box, execution: Execution, copied: tuple[wire.WorkEntry, ...], join: wire.Join | None
    ) -> ExecutionReport:
        loop = asyncio.get_running_loop()
        base = {"PATH": bubblewrap.search_path(self._host), "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108
        environment = base | dict(execution.environment)
        cpu = join.cpu if join else None
        traced = child_filter_bytes(self._host.machine) if execution.profile is Profile.WORK else b""
        # A pid 1 that cannot take the work says so and ends before it has read everything: then its report is there.
        with (
            contextlib.suppress(BrokenPipeError, ConnectionResetError),
            contextlib.closing(wire.job_parts(execution, copied, environment, cpu, traced)) as parts,
        ):
            for part in parts:
                await loop.sock_sendall(box.channel, part)
        if join is not None:
            await join.send(box.channel)
        return await wire.received(box.channel, execution, self.description)

    def _refusal(self, reason: str) -> ExecutionReport:
        return ExecutionReport(status=ExecutionStatus.REFUSED, reason=reason, sandbox=self.description)

    def _killed(self, reason: str, *, timed_out: bool = False) -> ExecutionReport:
        return ExecutionReport(
            status=ExecutionStatus.KILLED, reason=reason, timed_out=timed_out, sandbox=self.description
        )

    def _refill(self) -> None:
        """After a quiet moment, so that making boxes ready does not slow down those that run."""
        if self._pool.fewest < self._settings.pool and (self._refilling is None or self._refilling.done()):
            self._refilling = asyncio.ensure_future(self._refill_when_quiet())

    async def _refill_when_quiet(self) -> None:
        while self._pool.fewest < self._settings.pool:
            await self._clock.sleep_ms(REFILL_QUIET_MS)
            if self._busy or self._pool.fewest >= self._settings.pool:  # a zygote may have added one meanwhile
                continue
            try:
                await self._pool.add()
            except (EarnestError, TimeoutError):
                return  # the next execution starts its own and says what is wrong


def _checked(execution: Execution) -> Execution:
    """The execution with its paths in normal form. Raises `Refused` for what does not make sense."""
    if not execution.argv or any("\0" in argument for argument in execution.argv):
        raise Refused("sandbox_argv", "a command has a name, and no argument holds a zero byte")
    if any("\0" in name + value or "=" in name or not name for name, value in execution.environment.items()):
        raise Refused("sandbox_environment", "an environment variable with a name or value that cannot be")
    work = execution.work.folder if isinstance(execution.work, Layers) else execution.work
    if execution.profile is Profile.WORK and not (isinstance(work, Path) and work.is_dir()):
        raise Refused("sandbox_work", "under WORK, work is a folder that exists")
    if len(execution.artifacts) > wire.ARTIFACTS_MAX:
        raise Refused("sandbox_artifacts", f"more than {wire.ARTIFACTS_MAX} artifacts")
    artifacts = tuple(dict.fromkeys(wire.relative_path(path) for path in execution.artifacts))
    mounts = tuple(_resolved(mount) for mount in execution.mounts)
    return replace(execution, artifacts=artifacts, mounts=mounts)


def _resolved(mount: Mount) -> Mount:
    """What may be written to was resolved by whoever allowed it: a link that leads elsewhere by now is refused."""
    source = mount.source.resolve(strict=True)
    if mount.writable and source != mount.source:
        raise Refused("sandbox_mount", f"{mount.source} is not where it was: it leads to {source}")
    return replace(mount, source=source, target=bubblewrap.mount_target(mount))


def _is_private(path: Path | None, hidden: Iterable[Path]) -> bool:
    return path is not None and any(path.is_relative_to(place) for place in hidden)


def _mountpoints(execution: Execution) -> list[Path]:
    """Places that bubblewrap will have to create in a bound work folder or in an upper layer, innermost first."""
    if execution.profile is Profile.VERIFY:
        return []
    work = execution.work.folder / "upper" if isinstance(execution.work, Layers) and execution.work.folder else None
    work = execution.work if isinstance(execution.work, Path) else work
    assert work is not None
    root = work.resolve()
    places = []
    for mount in execution.mounts:
        target = Path(mount.target)
        if target.is_relative_to(WORK_DIR):
            place = root / target.relative_to(WORK_DIR)
            while place != root and not place.exists() and place not in places:
                places.append(place)
                place = place.parent
    return sorted(places, key=lambda place: -len(place.parts))


def _remove_if_empty(place: Path) -> None:
    """Take away a mountpoint that was left behind, unless something else stands there now."""
    with contextlib.suppress(OSError):
        if place.parent.resolve() != place.parent:
            return
        status = place.lstat()
        if place.is_dir() and not place.is_symlink():
            place.rmdir()
        elif place.is_file() and not place.is_symlink() and status.st_size == 0:
            place.unlink()


async def _to_the_end(ending: Coroutine[None, None, None]) -> None:
    """Await it even if we are cancelled meanwhile, and let the cancellation go on afterwards."""
    task = asyncio.ensure_future(ending)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
