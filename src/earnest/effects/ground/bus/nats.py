"""A stream of messages on a server of NATS (JetStream): who writes it, and who reads it and can do nothing else."""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import Header, PubAck, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import NotFoundError

from earnest.effects.ground.bus.wire import HeardEnvelope, SentMessage, StreamReader, StreamWriter, heard_envelope
from earnest.foundation.errors import Unavailable

STREAM: Final = "EARNEST"
PREFIX: Final = "earnest."
SUBJECTS: Final = (f"{PREFIX}run.*", f"{PREFIX}platform")
WAKE: Final = f"{PREFIX}wake"
"""Said after messages were kept, so that readers look; it is not kept itself."""
KEPT_S: Final = 7 * 86_400
DUPLICATES_S: Final = 600
"""For how long a message that is sent again is known by its id."""
READ_MAX: Final = 256
LOOK_S: Final = 5.0
"""How soon a reader looks again that heard nothing."""
ANSWER_S: Final = 5.0
HEADER_BYTES: Final = 512
"""What the largest message leaves for its headers."""
PLACE: Final = "Nats-Sequence"
END_OF_BATCH: Final = "204"
NOTHING_THERE: Final = "404"
_GET: Final = f"$JS.API.DIRECT.GET.{STREAM}"
_log: Final = logging.getLogger(__name__)


class NatsLink:
    """A connection that is made in the background, and again whenever it is lost."""

    def __init__(self, address: str, name: str) -> None:
        self.server: Final = urlsplit(address).netloc.rpartition("@")[2]
        self.fault = f"{self.server} does not answer yet"
        """Why it is not there; empty while it is."""
        self._address = address
        self._name = name
        self._client: Client | None = None
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def client(self) -> Client:
        """The connection. Raises `Unavailable` while there is none."""
        if self._client is not None and self._client.is_closed:  # refused: what was wrong may have been put right
            self._client, self._connecting = None, asyncio.get_running_loop().create_task(self._connect())
        if self._client is None or not self._client.is_connected:
            raise Unavailable(f"the bus is away: {self.fault}")
        return self._client

    async def there(self) -> None:
        """Return when it is made for the first time."""
        await asyncio.shield(self._connecting)

    async def close(self) -> None:
        """End it. Twice is harmless."""
        while not self._connecting.done():  # `wait_for` of Python 3.11 loses a cancel that comes as its work ends
            self._connecting.cancel()
            await asyncio.wait([self._connecting], timeout=0.1)
        if self._client is not None and not self._client.is_closed:
            await self._client.close()

    async def _connect(self) -> None:
        self._client = Client()
        try:
            await self._client.connect(
                [self._address],
                name=self._name,
                error_cb=self._note,
                disconnected_cb=self._lost,
                reconnected_cb=self._there,
                max_reconnect_attempts=-1,
                reconnect_time_wait=1,
                ping_interval=5,  # a cut wire is noticed after two of them
            )
        except (nats.errors.Error, ValueError) as error:  # an address that is none: all others are tried again
            self._client, self.fault = None, f"{self.server}: {error}"
        else:
            await self._there()

    async def _note(self, error: Exception) -> None:
        if self._client is not None and self._client.is_connected:
            _log.warning("the bus at %s says: %s", self.server, error)
        else:
            self.fault = f"{self.server}: {error or type(error).__name__}"

    async def _lost(self) -> None:
        self.fault = f"{self.server} is away"
        _log.warning("the bus at %s is away; messages for it wait", self.server)

    async def _there(self) -> None:
        self.fault = ""


class NatsWriter(StreamWriter):
    """See `StreamWriter`. Makes the stream where there is none, and leaves one that is there as it is."""

    def __init__(self, address: str) -> None:
        self._link = NatsLink(address, "earnest")
        self._stream: JetStreamContext | None = None
        self.close: Final = self._link.close

    @property
    def fault(self) -> str:
        """See `StreamWriter`."""
        return self._link.fault

    async def send(self, messages: Sequence[SentMessage]) -> None:
        """See `StreamWriter`."""
        client = await self._link.client()
        kept: list[asyncio.Future[PubAck]] = []
        try:
            async with asyncio.timeout(ANSWER_S):
                stream = await self._stream_of(client)
                for one in messages:
                    data = one.data if len(one.data) + HEADER_BYTES <= client.max_payload else one.lean
                    header = {Header.MSG_ID: one.id}
                    kept.append(await stream.publish_async(PREFIX + one.topic, data, stream=STREAM, headers=header))
                await asyncio.gather(*kept)
                await client.publish(WAKE, b"")
        except (nats.errors.Error, TimeoutError, OSError) as error:
            self._stream = None
            raise Unavailable(f"the bus did not keep messages: {error or type(error).__name__}") from error
        finally:
            for answer in kept:
                answer.cancel()

    async def _stream_of(self, client: Client) -> JetStreamContext:
        if self._stream is None:
            stream = client.jetstream(timeout=ANSWER_S)
            try:
                await stream.stream_info(STREAM)
            except NotFoundError:
                await stream.add_stream(
                    StreamConfig(
                        name=STREAM,
                        subjects=list(SUBJECTS),
                        allow_direct=True,
                        deny_delete=True,
                        deny_purge=True,
                        duplicate_window=DUPLICATES_S,
                        max_age=KEPT_S,
                    )
                )
            self._stream = stream
        return self._stream


class NatsReader(StreamReader):
    """See `StreamReader`. It asks the server for messages by their places, so the server keeps nothing about it."""

    def __init__(self, address: str) -> None:
        self._link = NatsLink(address, "earnest audit")
        self.close: Final = self._link.close
        self._inbox = ""
        self._inbox_of: Client | None = None
        self._asked = 0
        self._reply = ""
        self._found: list[Msg] = []
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._more = asyncio.Event()

    async def read(self, after: int) -> Sequence[HeardEnvelope]:
        """See `StreamReader`."""
        self._more.clear()
        return await self._get(after + 1, READ_MAX)

    async def first_from(self, place: int) -> HeardEnvelope | None:
        """See `StreamReader`."""
        return next(iter(await self._get(place, 1)), None)

    async def wait(self) -> None:
        """See `StreamReader`. Looks every few seconds, whatever was heard."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._more.wait()

    async def _get(self, first: int, count: int) -> list[HeardEnvelope]:
        client = await self._link.client()
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._listen(client)
                self._asked += 1
                self._reply, self._found = f"{self._inbox}.{self._asked}", []
                self._end = asyncio.get_running_loop().create_future()
                asked = {"seq": first, "batch": count, "next_by_subj": ">"}
                await client.publish(_GET, json.dumps(asked).encode(), reply=self._reply)
                status = await self._end
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise Unavailable(f"the bus did not answer: {error or type(error).__name__}") from error
        if status not in {END_OF_BATCH, NOTHING_THERE}:
            raise Unavailable(f"the bus did not answer: {status}")
        return [heard_envelope(one.data, int((one.headers or {})[PLACE])) for one in self._found]

    async def _listen(self, client: Client) -> None:
        if self._inbox_of is not client:
            self._inbox = client.new_inbox()
            await client.subscribe(f"{self._inbox}.*", cb=self._take)
            await client.subscribe(WAKE, cb=self._wake)
            self._inbox_of = client

    async def _take(self, answer: Msg) -> None:
        if answer.subject != self._reply or self._end.done():
            return  # to a question that was given up
        status = (answer.headers or {}).get("Status")
        if status is None:
            self._found.append(answer)
        else:
            self._end.set_result(status)

    async def _wake(self, _: Msg) -> None:
        self._more.set()
