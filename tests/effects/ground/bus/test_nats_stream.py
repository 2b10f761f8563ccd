"""Does a stream on NATS keep what engines say, and can an auditor read it and nothing else?"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import nats
import pytest
from nats.js.errors import APIError

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.bus.nats import STREAM, NatsReader, NatsWriter
from earnest.effects.ground.bus.wire import HeardEnvelope, SentMessage, sent_message
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.errors import Unavailable
from nats_server import NatsServer, nats_server

CLOCK = SystemClock()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as running:
        yield running


@pytest.fixture
async def writer(server: NatsServer) -> AsyncIterator[NatsWriter]:
    end = NatsWriter(server.address("engine"))
    yield end
    await end.close()


@pytest.fixture
async def reader(server: NatsServer) -> AsyncIterator[NatsReader]:
    end = NatsReader(server.address("auditor"))
    yield end
    await end.close()


def said(number: int, text: str = "") -> SentMessage:
    envelope = Envelope(
        id=f"run_a/{number}", run_id="run_a", sender="R1", causation_id=None, at_ms=number, payload=None
    )
    return sent_message(envelope, {"number": number, "text": text})


async def sent(writer: NatsWriter, *messages: SentMessage) -> None:
    """Send as soon as there is a connection."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await writer.send(messages)
            except Unavailable:
                await CLOCK.sleep_ms(20)


async def read(reader: NatsReader, after: int = 0) -> list[HeardEnvelope]:
    async with asyncio.timeout(20):
        while True:
            try:
                return list(await reader.read(after))
            except Unavailable:
                await CLOCK.sleep_ms(20)


async def test_an_end_that_comes_while_it_connects_leaves_no_connection_open() -> None:
    came, gone = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        await reader.read()
        gone.set()
        writer.close()

    async with asyncio.timeout(20), await asyncio.start_server(say_nothing, "127.0.0.1") as silent:
        end = NatsWriter(f"nats://127.0.0.1:{silent.sockets[0].getsockname()[1]}")
        await came.wait()
        await end.close()
        await gone.wait()


async def test_messages_are_read_in_order_by_their_places(writer: NatsWriter, reader: NatsReader) -> None:
    await sent(writer, *map(said, range(600)))
    found: list[HeardEnvelope] = []
    while more := await read(reader, len(found)):
        found += more
    assert [message.place for message in found] == list(range(1, 601))
    assert [message.payload for message in found] == [{"number": number, "text": ""} for number in range(600)]
    assert (found[7].id, found[7].run_id, found[7].sender, found[7].at_ms) == ("run_a/7", "run_a", "R1", 7)


async def test_what_is_sent_again_is_kept_once(writer: NatsWriter, reader: NatsReader) -> None:
    await sent(writer, said(1), said(2))
    await sent(writer, said(1), said(2), said(3))
    assert [message.id for message in await read(reader)] == ["run_a/1", "run_a/2", "run_a/3"]


async def test_a_reader_hears_at_once_that_there_is_more(writer: NatsWriter, reader: NatsReader) -> None:
    await sent(writer, said(1))
    await read(reader)
    waiting = asyncio.create_task(reader.wait())
    await asyncio.sleep(0)
    await sent(writer, said(2))
    async with asyncio.timeout(2):  # and not after `LOOK_S`
        await waiting


async def test_a_reader_is_told_of_a_stream_that_ends_before_what_it_has_read(
    writer: NatsWriter, reader: NatsReader
) -> None:
    await sent(writer, said(1))
    await read(reader)
    there = await reader.first_from(1)
    assert there is not None
    assert (there.place, there.id) == (1, "run_a/1")
    assert await reader.first_from(2) is None


async def test_a_message_that_is_too_large_goes_without_its_content(writer: NatsWriter, reader: NatsReader) -> None:
    await sent(writer, said(1, "x" * 9_000_000), said(2))
    large, small = await read(reader)
    assert (large.id, large.payload) == ("run_a/1", None)
    assert small.payload == {"number": 2, "text": ""}


async def test_bytes_that_are_no_message_are_one_of_nobody(
    server: NatsServer, writer: NatsWriter, reader: NatsReader
) -> None:
    await sent(writer, said(1))
    client = await nats.connect(server.address("engine"))
    for data in (b"\xff", b"[]", b'{"id":1}', b"[" * 100_000):
        await client.jetstream().publish("earnest.platform", data)
    await client.close()
    assert [(message.kind, message.id) for message in await read(reader, 1)] == [("?", "")] * 4


@pytest.mark.slow
@pytest.mark.parametrize("user", ["auditor", "engine"])
async def test_nobody_can_change_what_was_said(server: NatsServer, writer: NatsWriter, user: str) -> None:
    await sent(writer, said(1))
    client = await nats.connect(server.address(user), error_cb=_silent)
    stream = client.jetstream(timeout=0.5)
    changes = (stream.purge_stream(STREAM), stream.delete_msg(STREAM, 1), stream.delete_stream(STREAM))
    for outcome in await asyncio.gather(*changes, return_exceptions=True):
        assert isinstance(outcome, (nats.errors.TimeoutError, APIError))
    await client.close()


async def test_the_server_refuses_whatever_the_auditor_publishes(
    server: NatsServer, writer: NatsWriter, reader: NatsReader
) -> None:
    await sent(writer, said(1))
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    client = await nats.connect(server.address("auditor"), error_cb=note)
    for subject in ("earnest.run.run_a", "earnest.platform", "earnest.wake"):
        await client.publish(subject, b"do as I say")
        await client.flush()
    # The server answers a question to whatever subject it names: within the auditor's own account, where nobody is.
    await client.publish(f"$JS.API.DIRECT.GET.{STREAM}", b'{"seq":1}', reply="earnest.run.run_b")
    await client.flush()
    await sent(writer, said(2))
    await client.close()
    assert [text.partition('"')[2] for text in refused] == ['earnest.run.run_a"', 'earnest.platform"', 'earnest.wake"']
    assert [message.id for message in await read(reader)] == ["run_a/1", "run_a/2"]


async def test_the_auditor_cannot_listen_to_more_than_that_there_is_something(server: NatsServer) -> None:
    refused = asyncio.Queue[Exception]()
    client = await nats.connect(server.address("auditor"), error_cb=refused.put)
    await client.subscribe("earnest.run.>")
    assert "earnest.run.>" in str(await asyncio.wait_for(refused.get(), 10))
    await client.close()


async def test_a_wrong_password_is_a_reason_that_can_be_told(server: NatsServer) -> None:
    writer = NatsWriter(server.address("engine").replace("of-engine", "guessed"))
    told = ""
    async with asyncio.timeout(20):
        while "uthorization" not in told:
            with pytest.raises(Unavailable) as refused:
                await writer.send([said(1)])
            told = str(refused.value)
            await CLOCK.sleep_ms(20)
    assert "guessed" not in told
    await writer.close()


async def test_an_address_that_is_none_is_a_reason_too() -> None:
    writer = NatsWriter("nats://127.0.0.1:port")
    async with asyncio.timeout(20):
        while writer.fault.endswith("yet"):
            await CLOCK.sleep_ms(20)
    with pytest.raises(Unavailable, match="port"):
        await writer.send([said(1)])
    await writer.close()


async def _silent(_: Exception) -> None:
    pass
