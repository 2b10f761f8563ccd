"""What a runner asks of a platform."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from earnest.client.client import AsyncClient
from earnest.client.payloads_home import Home
from earnest.client.payloads_scores import CheckedIn, Due, Heartbeat, Score
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable

T = TypeVar("T", bound=Mapping[str, object])


class HeartbeatPlatform(Protocol):
    """Where an agent checks in. All raise `Problem` for a no, `Unavailable` where nobody answers."""

    async def home(self) -> Home:
        """Everything that concerns the agent; a look that counts as a sign of life."""

    async def due(self) -> Due:
        """What a check-in now would be asked for."""

    async def score(self) -> Score:
        """How the agent stands."""

    async def upload(self, content: bytes) -> str:
        """Bring an artifact; its digest. Again, it is the same one."""

    async def check_in(self, key: str, body: JsonObject) -> CheckedIn:
        """Check in, once however often it is sent under this key."""

    async def heartbeat(self, heartbeat_id: str) -> Heartbeat:
        """A heartbeat, with what came of it once it is judged."""


class PlatformOverHttp:
    """See `HeartbeatPlatform`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def home(self) -> Home:
        """See `HeartbeatPlatform`. One that has not changed is not sent again."""
        return _of(Home, (await self._client.home()).home)

    async def due(self) -> Due:
        """See `HeartbeatPlatform`."""
        return _of(Due, await self._client.due_tasks())

    async def score(self) -> Score:
        """See `HeartbeatPlatform`."""
        return _of(Score, await self._client.get_score())

    async def upload(self, content: bytes) -> str:
        """See `HeartbeatPlatform`."""
        return (await self._client.upload(content))["sha256"]

    async def check_in(self, key: str, body: JsonObject) -> CheckedIn:
        """See `HeartbeatPlatform`."""
        return _of(CheckedIn, await self._client.keyed(key).check_in(**body))  # type: ignore[arg-type]

    async def heartbeat(self, heartbeat_id: str) -> Heartbeat:
        """See `HeartbeatPlatform`."""
        return _of(Heartbeat, await self._client.get_heartbeat(heartbeat_id))


def _of(shape: Any, found: T) -> T:
    """The answer, if it has the members of this `TypedDict`. Raises `Unavailable`: somebody on the way has given it."""
    if shape.__required_keys__ <= found.keys():
        return found
    raise Unavailable("what answered is no platform: its answer lacks what was asked for")
