"""Event loops that one seed drives: it says which process goes next, how long anything takes, and what goes wrong."""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from earnest.effects.ground.clock import SystemClock, VirtualClock

NEVER_MS = 2**62
rest_ms = SystemClock().sleep_ms
"""By the loop's time, which is the world's."""


class Rested(BaseException):  # no failure that anybody under test may take for one
    """Raised where a thread would wait; `ms` None: until it is stirred."""

    def __init__(self, ms: int | None) -> None:
        super().__init__(ms)
        self.ms = ms


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop that runs one handle when it is told to, at the time of its world."""

    _ready: "deque[asyncio.Handle]"
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, world: "World", host: "Host") -> None:
        super().__init__()
        self.world, self.host = world, host
        self.faults: list[str] = []

    def time(self) -> float:
        return self.world.now_ms / 1000

    def next_ms(self) -> int:
        """When it has something to do; 0 for now."""
        if self._ready:
            return 0
        while self._scheduled and self._scheduled[0]._cancelled:
            self._drop_timer()
        return -int(-self._scheduled[0].when() * 1000 // 1) if self._scheduled else NEVER_MS

    def step(self) -> None:
        """One handle, the oldest of those that can run."""
        now = self.time() + 1e-6
        while self._scheduled and self._scheduled[0].when() <= now:
            self._ready.append(self._drop_timer())
        handle = self._ready.popleft()
        if handle._cancelled:
            return
        asyncio._set_running_loop(self)
        try:
            handle._run()
        finally:
            asyncio._set_running_loop(None)

    def _drop_timer(self) -> Any:
        handle: Any = heapq.heappop(self._scheduled)
        handle._scheduled = False
        if handle._cancelled:
            self._timer_cancelled_count -= 1
        return handle

    def _write_to_self(self) -> None:
        """It is looked at all the time."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":  # type: ignore[override]
        """As a thread would, some time later."""
        answer = self.create_future()

        def run() -> None:
            if answer.cancelled():
                return
            try:
                answer.set_result(func(*args))
            except Exception as error:
                answer.set_exception(error)

        self.call_later(self.world.chance.choice((0, 0, 1, 4)) / 1000, run)
        return answer

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.host.is_over:
            self.faults.append(f"{context.get('message')}: {context.get('exception')!r}")


class Host:
    """A machine with a process on it. It can be killed, stopped, cut off, and its clock be set."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.loop = SimulatedLoop(world, self)
        self.clock = HostClock(world, self)
        self.threads: dict[str, SimulatedThread] = {}
        self.stopped_until_ms = self.cut_until_ms = self.set_by_ms = 0
        self.is_over = False

    def next_ms(self) -> int:
        """When it has something to do and does not stand still."""
        return max(self.loop.next_ms(), self.stopped_until_ms, self.world.now_ms)

    @property
    def is_cut(self) -> bool:
        return self.is_over or self.world.now_ms < self.cut_until_ms

    def drain(self) -> None:
        """After its end: let all tasks fall, so that nothing of it is left. Nothing it does reaches anybody."""
        self.is_over = True
        self.world.current = self
        for _ in range(20):
            tasks = asyncio.all_tasks(self.loop)
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            while self.loop._ready:
                self.loop.step()
        self.loop._ready.clear()
        self.loop._scheduled.clear()
        self.loop.close()


class HostClock(VirtualClock):
    """The clock of a machine: ticks of the world, and a time of day that can be set."""

    def __init__(self, world: "World", host: Host) -> None:
        super().__init__()
        self._world, self._host = world, host

    def now_ms(self) -> int:
        return self._world.start_ms + self._world.now_ms + self._host.set_by_ms

    def ticks_ns(self) -> int:
        return self._world.now_ms * 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        await rest_ms(duration_ms)


class SimulatedThread:
    """A thread of a host: its function is called anew whenever it would go on, and left by `Rested`."""

    def __init__(self, target: Callable[[], object], name: str, daemon: bool) -> None:
        self._target = target
        host = World.running().current
        assert host is not None
        self._host = host
        self._next: asyncio.Handle | None = None
        host.threads[name] = self

    def start(self) -> None:
        self.stir()

    def stir(self) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = self._host.loop.call_soon(self._run)

    def join(self) -> None:
        """Whoever waits for it has it over."""

    def _run(self) -> None:
        self._next = None
        try:
            self._target()
        except Rested as rested:
            if rested.ms is not None:
                self._next = self._host.loop.call_later(rested.ms / 1000, self._run)


class SimulatedQueue:
    """What a `SimulatedThread` waits at."""

    def __init__(self) -> None:
        host = World.running().current
        assert host is not None
        self._host = host
        self._calls: list[bool] = []

    def put(self, call: bool) -> None:
        self._calls.append(call)
        if (thread := self._host.threads.get("earnest-writer")) is not None:
            thread.stir()

    def get(self) -> bool:
        if not self._calls:
            raise Rested(None)
        return self._calls.pop(0)

    def again(self) -> None:
        """What was taken could not be done yet."""
        self._calls.insert(0, True)


class World:
    """The hosts, the time that they share, and the seed's chance."""

    _running: ContextVar["World"] = ContextVar("world")

    def __init__(self, seed: int, start_ms: int) -> None:
        self.chance = random.Random(f"simulated {seed}")
        self.start_ms = start_ms
        self.now_ms = 1
        self.hosts: list[Host] = []
        self.current: Host | None = None
        self.steps = 0
        self.told: list[str] = []
        self.wrongs: list[str] = []
        self._running.set(self)

    @classmethod
    def running(cls) -> "World":
        return cls._running.get()

    def say(self, what: str) -> None:
        """A line of the story."""
        self.told.append(f"{self.now_ms:>7} ms {what}")

    def wrong(self, what: str) -> None:
        self.say(f"WRONG: {what}")
        self.wrongs.append(what)

    def run(self, until_ms: int, between: Callable[[], None] = lambda: None) -> None:
        """Let the hosts go on, one step of one of them at a time; `between` any two of them."""
        while True:
            soonest, can = NEVER_MS, list[Host]()
            for host in self.hosts:
                time = host.next_ms()
                if time < soonest:
                    soonest, can = time, [host]
                elif time == soonest:
                    can.append(host)
            if soonest > until_ms:
                self.now_ms = max(self.now_ms, until_ms)
                return
            self.now_ms = soonest
            self.current = can[self.chance.randrange(len(can))] if len(can) > 1 else can[0]
            self.current.loop.step()
            self.steps += 1
            between()
