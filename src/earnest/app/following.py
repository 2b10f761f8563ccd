"""`earnest audit follow`: an auditor with a data directory of its own, of engines wherever they are."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import cast

from earnest.app import places
from earnest.app.between import need_client
from earnest.app.platform import open_auditor
from earnest.app.settings import Settings
from earnest.audit.following import HeardBus
from earnest.audit.report import AuditReport
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused


async def follow(settings: Settings, on_report: Callable[[AuditReport], None]) -> None:
    """Log what is said on the bus, on from where the log ends, until cancelled.

    Raises `Refused`: `bus_missing`, `nats_missing`, `audited_here`.
    """
    if not settings.bus:
        raise Refused("bus_missing", "no bus is named: set EARNEST_BUS to the address of a server of NATS")
    need_client()
    if settings.database or places.books(settings.home).exists():
        raise Refused("audited_here", f"{settings.home} has books, and an auditor of its own: follow with another home")
    from earnest.effects.ground.bus.nats import NatsReader  # noqa: PLC0415 - a library that few have

    clock, bus = SystemClock(), HeardBus()
    with contextlib.closing(open_auditor(settings, bus, clock, on_report, _encoded)) as auditor:
        reader = NatsReader(settings.bus)
        watching = asyncio.get_running_loop().create_task(auditor.watch())
        try:
            await bus.follow(reader, clock, *auditor.place)
        finally:
            watching.cancel()
            await reader.close()


def _encoded(payload: object) -> JsonObject:
    """What was heard is JSON already. Raises `Broken` for a message whose payload was not sent, or is none."""
    if not isinstance(payload, dict):
        raise Broken("the message came without its content")
    return cast("JsonObject", payload)
