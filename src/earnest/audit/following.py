"""An auditor of engines on other machines: it reads their messages from a stream, and can send none."""

import logging
from typing import Final

from earnest.audit.event import plain
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.bus.wire import StreamReader
from earnest.effects.ground.clock import Clock
from earnest.foundation.errors import Unavailable

AGAIN_MS: Final = 500
_log: Final = logging.getLogger(__name__)


class HeardBus(Bus):
    """A bus that carries what is read from a stream. What the stream let go before it was read counts as dropped."""

    async def follow(self, reader: StreamReader, clock: Clock, place: int, message_id: str) -> None:
        """Read what comes after a message that was read, until cancelled. A bus that is away is waited for."""
        is_there = False
        while True:
            try:
                if not is_there and place and not await _is_at(reader, place, message_id):
                    _log.warning("message %d is not the one that was read: the stream is read from its start", place)
                    place = 0
                is_there = True
                found = await reader.read(place)
            except Unavailable as error:
                if is_there:
                    _log.warning("%s", error)
                is_there = False
                await clock.sleep_ms(AGAIN_MS)
                continue
            for message in found:
                self.dropped += message.place - place - 1
                place, message_id = message.place, message.id
                self.publish(message)
            if not found:
                await reader.wait()


async def _is_at(reader: StreamReader, place: int, message_id: str) -> bool:
    """False for a stream that has another message there, or ends before: it was made anew, or lost its end."""
    there = await reader.first_from(place)
    return there is not None and (there.place != place or plain(there.id) == plain(message_id))
