"""The promises of a bus. Subclass `BusPromises` with a `bus` fixture; pytest runs the sentences below."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Final

from earnest.effects.ground.bus.api import Bus, Envelope, Subscription
from earnest.foundation.errors import Refused

READ_WITHIN_S: Final = 5.0
"""How long a provider may take to hand over a message."""
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePayload:
    """A payload."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPayload:
    """A payload of another type."""

    number: int


class AskedTwice(SamplePayload):
    """A subclass, which is a type of its own to a bus."""


def envelope(payload: object, *, causation_id: str | None = None) -> Envelope:
    """A message of the run `run` sent by `R1`, with an id that no other one has."""
    return Envelope(
        id=f"run/{next(_NUMBERS)}", run_id="run", sender="R1", causation_id=causation_id, at_ms=1, payload=payload
    )


async def read(subscription: Subscription, count: int) -> list[object]:
    """The next `count` payloads. Raises `TimeoutError` if they do not come."""
    messages = aiter(subscription)
    async with asyncio.timeout(READ_WITHIN_S):
        return [(await anext(messages)).payload for _ in range(count)]


async def read_to_end(subscription: Subscription) -> list[object]:
    """The payloads up to the end of a closed subscription."""
    async with asyncio.timeout(READ_WITHIN_S):
        return [message.payload async for message in subscription]


def asked(numbers: Iterable[int]) -> list[object]:
    """One `SamplePayload` a number."""
    return [SamplePayload(number=number) for number in numbers]


class BusPromises:
    """What a `Bus` does, whoever taps it."""

    async def test_messages_come_in_order_of_publication(self, bus: Bus) -> None:
        """Order."""
        subscription = bus.subscribe("s", [SamplePayload], capacity=100)
        for payload in asked(range(100)):
            bus.publish(envelope(payload))
        assert await read(subscription, 100) == asked(range(100))

    async def test_a_message_arrives_as_it_was_sent(self, bus: Bus) -> None:
        """All fields."""
        subscription = bus.subscribe("s", None, capacity=1)
        sent = Envelope(
            id="b", run_id="run", sender="R2", causation_id="a", at_ms=7, payload=SamplePayload(number=1), replayed=True
        )
        bus.publish(sent)
        async with asyncio.timeout(READ_WITHIN_S):
            assert await anext(aiter(subscription)) == sent

    async def test_a_subscriber_sees_exactly_the_types_it_named(self, bus: Bus) -> None:
        """Routing, subclasses included."""
        one = bus.subscribe("one", [SamplePayload], capacity=9)
        both = bus.subscribe("both", [SamplePayload, OtherPayload], capacity=9)
        every = bus.subscribe("every", None, capacity=9)
        for payload in (SamplePayload(number=1), AskedTwice(number=2), OtherPayload(number=3)):
            bus.publish(envelope(payload))
        assert await read(every, 3) == [SamplePayload(number=1), AskedTwice(number=2), OtherPayload(number=3)]
        assert await read(both, 2) == [SamplePayload(number=1), OtherPayload(number=3)]
        one.close()
        assert await read_to_end(one) == [SamplePayload(number=1)]

    async def test_subscribing_is_complete_when_it_returns(self, bus: Bus) -> None:
        """The first message after is seen, also by a type that was published before."""
        bus.publish(envelope(SamplePayload(number=1)))
        late = bus.subscribe("late", [SamplePayload], capacity=9)
        bus.publish(envelope(SamplePayload(number=2)))
        assert await read(late, 1) == [SamplePayload(number=2)]

    async def test_a_tap_sees_a_message_before_publish_returns(self, bus: Bus) -> None:
        """Taps are synchronous."""
        seen: list[Envelope] = []
        bus.tap("t", seen.append)
        sent = envelope(OtherPayload(number=1))
        bus.publish(sent)
        assert seen == [sent]

    async def test_taps_see_a_message_before_subscribers_do(self, bus: Bus) -> None:
        """A subscriber that answers cannot make an effect overtake its cause."""
        order: list[str] = []
        questions = bus.subscribe("s", [SamplePayload], capacity=9)
        bus.tap("t", lambda message: order.append(message.kind))

        async def answer() -> None:
            async for message in questions:
                bus.publish(envelope(OtherPayload(number=1), causation_id=message.id))
                return

        answering = asyncio.create_task(answer())
        bus.publish(envelope(SamplePayload(number=1)))
        async with asyncio.timeout(READ_WITHIN_S):
            await answering
        assert order == ["SamplePayload", "OtherPayload"]

    async def test_what_a_tap_publishes_comes_after_what_it_saw(self, bus: Bus) -> None:
        """Cause before effect for taps before it, taps after it and subscribers."""
        before: list[object] = []
        after: list[object] = []

        def answer(message: Envelope) -> None:
            if isinstance(message.payload, SamplePayload):
                bus.publish(envelope(OtherPayload(number=message.payload.number), causation_id=message.id))

        bus.tap("before", lambda message: before.append(message.payload))
        bus.tap("answering", answer)
        bus.tap("after", lambda message: after.append(message.payload))
        subscription = bus.subscribe("s", None, capacity=9)
        bus.publish(envelope(SamplePayload(number=1)))
        bus.publish(envelope(SamplePayload(number=2)))
        expected: list[object] = [
            SamplePayload(number=1),
            OtherPayload(number=1),
            SamplePayload(number=2),
            OtherPayload(number=2),
        ]
        assert before == after == await read(subscription, 4) == expected

    async def test_a_tap_that_raises_is_removed_and_harms_nobody(self, bus: Bus) -> None:
        """Neither the publisher nor other taps nor subscribers notice."""
        calls: list[Envelope] = []
        seen: list[object] = []

        def fail(message: Envelope) -> None:
            calls.append(message)
            raise RuntimeError("a tap's own fault")

        bus.tap("bad", fail)
        bus.tap("good", lambda message: seen.append(message.payload))
        subscription = bus.subscribe("s", [SamplePayload], capacity=9)
        for payload in asked(range(2)):
            bus.publish(envelope(payload))
        assert len(calls) == 1
        assert seen == await read(subscription, 2) == asked(range(2))

    async def test_an_ended_tap_sees_nothing_more(self, bus: Bus) -> None:
        """Ending twice is harmless."""
        seen: list[Envelope] = []
        end = bus.tap("t", seen.append)
        end()
        end()
        bus.publish(envelope(SamplePayload(number=1)))
        assert seen == []

    async def test_a_full_observer_loses_the_newest_and_counts_it(self, bus: Bus) -> None:
        """Others lose nothing."""
        slow = bus.subscribe("slow", [SamplePayload], capacity=2)
        quick = bus.subscribe("quick", [SamplePayload], capacity=9)
        for payload in asked(range(5)):
            bus.publish(envelope(payload))
        slow.close()
        assert await read_to_end(slow) == asked(range(2))
        assert (slow.dropped, quick.dropped, bus.dropped) == (3, 0, 3)
        assert await read(quick, 5) == asked(range(5))

    async def test_a_full_inbox_refuses_before_anybody_saw_the_message(self, bus: Bus) -> None:
        """Nothing is lost and nothing is half sent."""
        tapped: list[object] = []
        bus.tap("t", lambda message: tapped.append(message.payload))
        observer = bus.subscribe("observer", [SamplePayload], capacity=9)
        inbox = bus.subscribe("inbox", [SamplePayload], capacity=2, inbox=True)
        codes = []
        for payload in asked(range(3)):
            try:
                bus.publish(envelope(payload))
            except Refused as refusal:
                codes.append(refusal.code)
        assert codes == ["bus_overflow"]
        assert tapped == await read(inbox, 2) == asked(range(2))
        observer.close()
        assert await read_to_end(observer) == asked(range(2))
        assert inbox.dropped == bus.dropped == 0

    async def test_an_inbox_takes_messages_again_when_it_was_read(self, bus: Bus) -> None:
        """Refusing is not for ever."""
        inbox = bus.subscribe("inbox", [SamplePayload], capacity=1, inbox=True)
        for payload in asked(range(3)):
            bus.publish(envelope(payload))
            assert await read(inbox, 1) == [payload]

    async def test_an_inbox_keeps_room_for_what_was_accepted_while_another_message_is_delivered(self, bus: Bus) -> None:
        """A tap that publishes twice into one free place is refused the second time, not robbed later."""
        refusals: list[str] = []

        def answer(message: Envelope) -> None:
            if isinstance(message.payload, SamplePayload):
                try:
                    bus.publish(envelope(OtherPayload(number=1)))
                    bus.publish(envelope(OtherPayload(number=2)))
                except Refused as refusal:
                    refusals.append(refusal.code)

        bus.tap("t", answer)
        inbox = bus.subscribe("inbox", [OtherPayload], capacity=1, inbox=True)
        bus.publish(envelope(SamplePayload(number=1)))
        assert refusals == ["bus_overflow"]
        assert await read(inbox, 1) == [OtherPayload(number=1)]

    async def test_iteration_ends_after_close_when_the_queue_is_drained(self, bus: Bus) -> None:
        """What was queued is still read; what is published afterwards is not."""
        subscription = bus.subscribe("s", [SamplePayload], capacity=9)
        bus.publish(envelope(SamplePayload(number=1)))
        subscription.close()
        subscription.close()
        bus.publish(envelope(SamplePayload(number=2)))
        assert await read_to_end(subscription) == asked([1])

    async def test_close_wakes_a_waiting_reader(self, bus: Bus) -> None:
        """An empty queue ends at once."""
        subscription = bus.subscribe("s", [SamplePayload], capacity=9)
        reading = asyncio.create_task(read_to_end(subscription))
        await asyncio.sleep(0)
        subscription.close()
        assert await reading == []

    async def test_a_closed_inbox_refuses_nobody(self, bus: Bus) -> None:
        """Who has left is not waited for."""
        inbox = bus.subscribe("inbox", [SamplePayload], capacity=1, inbox=True)
        bus.publish(envelope(SamplePayload(number=1)))
        inbox.close()
        bus.publish(envelope(SamplePayload(number=2)))
        assert await read_to_end(inbox) == asked([1])

    async def test_a_cancelled_reader_takes_no_message_with_it(self, bus: Bus) -> None:
        """Cancelled before and in the very step in which a message arrives."""
        subscription = bus.subscribe("s", [SamplePayload], capacity=9)
        for number in range(2):
            reading = asyncio.create_task(read(subscription, 1))
            await asyncio.sleep(0)
            if number:
                bus.publish(envelope(SamplePayload(number=number)))
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        assert await read(subscription, 1) == asked([1])
