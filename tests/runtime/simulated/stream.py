"""A simulated stream: it can be away, lose an answer, keep a beginning of what is sent, let go of its start."""

from collections.abc import Sequence

from earnest.effects.ground.bus.wire import HeardEnvelope, SentMessage, StreamReader, StreamWriter, heard_envelope
from earnest.foundation.errors import Unavailable

from .world import Host, World, rest_ms

READ_MAX = 64
LOOK_MS = 5_000


class SimulatedStream:
    """What it keeps, by place; the first `let_go` are gone."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept: list[SentMessage] = []
        self.ids: set[str] = set()
        self.let_go = 0
        self.away_until_ms = 0
        self.faults_of_sends = 0.0

    def reach(self, host: Host) -> None:
        if host.is_cut or self.world.now_ms < self.away_until_ms:
            raise Unavailable("the bus is away")

    def keep(self, one: SentMessage) -> None:
        """A message that is sent again is known by its id."""
        if one.id not in self.ids:
            self.ids.add(one.id)
            self.kept.append(one)


class SimulatedStreamWriter(StreamWriter):
    """The end that engines have."""

    fault = ""

    def __init__(self, stream: SimulatedStream, host: Host) -> None:
        self._stream, self._host = stream, host

    async def send(self, messages: Sequence[SentMessage]) -> None:
        stream, chance = self._stream, self._stream.world.chance
        await rest_ms(chance.randrange(3))
        stream.reach(self._host)
        fault = chance.randrange(2) if chance.random() < stream.faults_of_sends else -1
        for one in messages[: chance.randrange(len(messages)) if fault == 0 else None]:
            stream.keep(one)
        await rest_ms(chance.randrange(3))
        stream.reach(self._host)
        if fault >= 0:
            raise Unavailable("the bus did not keep messages, or did not say so")


class SimulatedStreamReader(StreamReader):
    """The end that who observes has."""

    def __init__(self, stream: SimulatedStream, host: Host) -> None:
        self._stream, self._host = stream, host

    async def read(self, after: int) -> Sequence[HeardEnvelope]:
        await rest_ms(self._stream.world.chance.randrange(3))
        self._stream.reach(self._host)
        first = max(after, self._stream.let_go)
        found = self._stream.kept[first : first + READ_MAX]
        return [heard_envelope(one.data, first + number) for number, one in enumerate(found, start=1)]

    async def first_from(self, place: int) -> HeardEnvelope | None:
        return next(iter(await self.read(place - 1)), None)

    async def wait(self) -> None:
        await rest_ms(LOOK_MS)
