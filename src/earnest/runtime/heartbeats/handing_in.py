"""A turn handed in once, whatever is killed or lost on the way."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from earnest.accountability.gate import Skip
from earnest.client.payloads_scores import Heartbeat
from earnest.client.problem import Problem
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.process import ProgramFailed
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused
from earnest.runtime.heartbeats.artifacts import read_artifact
from earnest.runtime.heartbeats.platform import HeartbeatPlatform
from earnest.runtime.heartbeats.state import HeartbeatTurn, RunnerState

STALE_MS: Final = 6 * 86_400_000
"""The platform keeps its answers for seven days: after that the same key would be another heartbeat."""
BUSY_WAIT_MS: Final = 5_000
BUSY_TRIES: Final = 12
LOOK_MS: Final = 250
LOOK_LONGEST_MS: Final = 5_000
VERDICT_MS: Final = 120_000
FINAL: Final = frozenset({400, 404, 413, 415, 422})
"""Whatever is sent again, the answer stays."""


class HandingIn:
    """Hands in the turn that stands in the files, and forgets it there once it is over."""

    def __init__(self, platform: HeartbeatPlatform, state: RunnerState, clock: Clock, chance: Chance) -> None:
        self._platform = platform
        self._state = state
        self._clock = clock
        self._chance = chance

    async def hand_in(self) -> Heartbeat | str | None:
        """Send it, or go on after it was sent: the judged heartbeat, or why the platform did not take it.

        None: the verdict is not there yet. Raises `ProgramFailed` where the platform will never take it, else `Problem`
        and `Unavailable`: then it stays.
        """
        turn = self._state.kept.turn
        assert turn is not None
        if not turn.heartbeat_id and self._clock.now_ms() - turn.at_ms > STALE_MS:
            raise self._given_up("it is days old: whether it was handed in is not known any more")
        try:
            if not turn.heartbeat_id:
                skip = await self._send(turn)
                if skip:
                    return skip
            return await self._verdict()
        except Problem as problem:
            if problem.status not in FINAL:
                raise
            said = "; ".join(str(error) for error in problem.errors)
            raise self._given_up(f"the platform will not take it: {problem} {said}".rstrip()) from None

    async def _send(self, turn: HeartbeatTurn) -> str:
        """Send it until it is taken, or say why it is skipped. A heartbeat that is being judged is waited for."""
        artifacts: Any = turn.body["artifacts"]
        for artifact in artifacts:
            await self._upload(turn, artifact["path"], artifact["sha256"])
        for _ in range(BUSY_TRIES):
            taken = await self._platform.check_in(turn.key, turn.body)
            if taken["heartbeat_id"] is not None:
                self._state.keep(turn=replace(turn, heartbeat_id=taken["heartbeat_id"]))
                return ""
            if taken["skip"] != Skip.BUSY:
                self._state.keep(turn=None)
                return str(taken["skip"])
            turn = replace(turn, key=self._chance.new_id(self._clock.now_ms()))  # the old one has its answer
            self._state.keep(turn=turn)
            await self._clock.sleep_ms(BUSY_WAIT_MS)
        return Skip.BUSY.value

    async def _upload(self, turn: HeartbeatTurn, path: str, sha256: str) -> None:
        try:
            content = read_artifact(Path(turn.folder), path)
        except (OSError, Refused) as error:
            raise self._given_up(f"{path!a} cannot be read any more: {error}") from None
        if digest_bytes(content) != sha256:
            raise self._given_up(f"{path!a} was changed after the program had ended")
        await self._platform.upload(content)

    async def _verdict(self) -> Heartbeat | None:
        """The heartbeat once it is judged; None where that takes longer than two minutes."""
        turn = self._state.kept.turn
        assert turn is not None
        wait_ms, until_ms = LOOK_MS, self._clock.now_ms() + VERDICT_MS
        while True:
            heartbeat = await self._platform.heartbeat(turn.heartbeat_id)
            if heartbeat["outcome"] is not None:
                self._state.keep(turn=None, last=heartbeat)
                return heartbeat
            if self._clock.now_ms() >= until_ms:
                return None
            await self._clock.sleep_ms(wait_ms)
            wait_ms = min(2 * wait_ms, LOOK_LONGEST_MS)

    def _given_up(self, why: str) -> ProgramFailed:
        self._state.keep(turn=None)
        return ProgramFailed(why)
