"""Does the bus of one process keep a bus's promises, and its own?"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from bus_promises import BusPromises, SamplePayload, asked, envelope, read
from earnest.effects.ground.bus.api import Bus, Envelope, Subscription
from earnest.foundation.errors import Broken


class TestBus(BusPromises):
    @pytest.fixture
    def bus(self) -> Bus:
        return Bus()


def test_publishing_from_another_thread_is_an_error() -> None:
    bus = Bus()
    with ThreadPoolExecutor(1) as pool, pytest.raises(Broken, match="thread"):
        pool.submit(bus.publish, envelope(SamplePayload(number=1))).result()


def test_a_queue_without_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Bus().subscribe("s", None, capacity=0)


def test_a_flood_of_drops_is_logged_a_few_times(caplog: pytest.LogCaptureFixture) -> None:
    bus = Bus()
    bus.subscribe("slow", None, capacity=1)
    with caplog.at_level(logging.WARNING):
        for payload in asked(range(1_001)):
            bus.publish(envelope(payload))
    assert bus.dropped == 1_000
    assert len(caplog.records) == 10


def test_a_tap_that_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(message: Envelope) -> None:
        raise RuntimeError("no")

    bus = Bus()
    bus.tap("auditor", fail)
    bus.publish(envelope(SamplePayload(number=1)))
    assert "auditor" in caplog.text


async def test_an_interrupted_tap_does_not_keep_a_message_from_its_subscribers() -> None:
    def interrupt(message: Envelope) -> None:
        raise KeyboardInterrupt

    bus = Bus()
    end = bus.tap("t", interrupt)
    inbox = bus.subscribe("s", [SamplePayload], capacity=9, inbox=True)
    with pytest.raises(KeyboardInterrupt):
        bus.publish(envelope(SamplePayload(number=1)))
    end()
    bus.publish(envelope(SamplePayload(number=2)))
    assert await read(inbox, 2) == asked([1, 2])


async def test_a_subscription_has_one_reader_at_a_time() -> None:
    subscription = Bus().subscribe("s", None, capacity=1)
    first = asyncio.create_task(read(subscription, 1))
    await asyncio.sleep(0)
    with pytest.raises(Broken, match="two tasks"):
        await read(subscription, 1)
    first.cancel()


async def test_a_tap_may_subscribe_and_close_while_a_message_is_delivered() -> None:
    bus = Bus()
    old = bus.subscribe("old", [SamplePayload], capacity=9)
    added: list[Subscription] = []

    def change(message: Envelope) -> None:
        if not added:
            old.close()
            added.append(bus.subscribe("new", [SamplePayload], capacity=9))

    bus.tap("t", change)
    for payload in asked([1, 2]):
        bus.publish(envelope(payload))
    assert await read(added[0], 1) == asked([2])
