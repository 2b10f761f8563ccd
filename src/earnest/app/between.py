"""The bus between machines: a server of NATS, to which processes tell on what is said in them."""

import asyncio
import contextlib
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from earnest.app import places
from earnest.app.settings import Settings
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.reader import ReadPool
from earnest.foundation.errors import Refused

if TYPE_CHECKING:
    from earnest.runtime.bus_relay import BusRelay

ANSWERS_WITHIN_S: Final = 3.0
_LOG: Final = logging.getLogger(__name__)


async def relay_in(
    stack: contextlib.AsyncExitStack, settings: Settings, books: ReadPool, bus: Bus, clock: Clock
) -> "BusRelay | None":
    """Tell on what a bus carries, where a server is named. Nothing waits for it. Raises `Refused("nats_missing")`."""
    if not settings.bus:
        return None
    need_client()
    from earnest.effects.ground.bus.nats import NatsWriter  # noqa: PLC0415 - a library that few have
    from earnest.runtime.bus_relay import BusRelay  # noqa: PLC0415

    writer = NatsWriter(settings.bus)
    stack.push_async_callback(writer.close)
    relay = BusRelay(writer, books=books, folder=places.behind(settings.home), clock=clock)
    running = asyncio.get_running_loop().create_task(relay.run())
    running.add_done_callback(_tell_of_a_fault)
    stack.callback(running.cancel)
    stack.push_async_callback(relay.close)
    stack.callback(bus.tap("relay", relay.see))
    return relay


def _tell_of_a_fault(ended: asyncio.Task[None]) -> None:
    if not ended.cancelled() and (error := ended.exception()) is not None:
        _LOG.error("nothing more is told to the bus", exc_info=error)


def need_client() -> None:
    """Raises `Refused("nats_missing")` where the client is not installed."""
    if find_spec("nats") is None:
        raise Refused("nats_missing", "the client of NATS is not installed: install 'earnest[nats]'")


async def bus_faults(settings: Settings) -> tuple[bool, str]:
    """Whether the bus answers, and what is to be said of it and of what it may lack."""
    if not settings.bus:
        return True, "messages stay on this machine"
    try:
        need_client()
    except Refused as refused:
        return False, str(refused)
    from earnest.effects.ground.bus.nats import NatsLink  # noqa: PLC0415 - a library that few have

    link = NatsLink(settings.bus, "earnest doctor")
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                await link.there()
        fault = link.fault
    finally:
        await link.close()
    folder = places.behind(settings.home)
    runs = len(list(folder.iterdir())) if folder.is_dir() else 0
    lacks = f"; it may lack messages of {runs} runs, which are in the facts" if runs else ""
    return not fault, (fault or f"{link.server} answers") + lacks
