"""The probes of one operator: each measured by a process of its own that is ended when its time is over.

A process, because nothing else ends a name look-up, a handshake or a query that hangs, and because what the answer does
to its reader's memory stays there.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.process import answer_of
from earnest.effects.outside.probes.api import Reading, Value
from earnest.effects.outside.probes.spec import ProbeSpec
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable

WORKER: Final = "earnest.effects.outside.probes.worker"
ANSWER_BYTES_MAX: Final = 64 * 1024
PARALLEL: Final = 4


class OperatorProbes:
    """See `Probes`. `variables` is where passwords and tokens are looked up."""

    def __init__(self, specs: Mapping[str, ProbeSpec], clock: Clock, variables: Mapping[str, str] = os.environ) -> None:
        self._specs = dict(specs)
        self.names: Final = self._specs.keys()
        self._clock = clock
        self._variables = variables
        self._slots = asyncio.Semaphore(PARALLEL)

    async def measure(self, name: str) -> Reading:
        """See `Probes`."""
        spec = self._specs.get(name)
        if spec is None:
            raise Unavailable(f"there is no probe {name!r} in the settings")
        async with self._slots:
            answer = await self._asked(name, spec)
        try:
            return spec.expectation.reading(answer)
        except Unavailable as error:
            raise Unavailable(f"the probe {name!r}: {error}") from None

    async def _asked(self, name: str, spec: ProbeSpec) -> Value:
        question: JsonObject = {
            "kind": spec.kind,
            "config": dict(spec.config),
            "secret": self._secret(name, spec),
            "now_ms": self._clock.now_ms(),
            "wall_s": spec.wall_s,
        }
        try:
            answer = await answer_of(WORKER, question, spec.wall_s)
        except TimeoutError:
            raise Unavailable(f"the probe {name!r} did not answer within {spec.wall_s} s") from None
        return _value(name, answer[: ANSWER_BYTES_MAX + 1])

    def _secret(self, name: str, spec: ProbeSpec) -> str:
        variable = spec.config.get("password_variable") or spec.config.get("token_variable")
        if not isinstance(variable, str):
            return ""
        if variable not in self._variables:
            raise Unavailable(f"the probe {name!r} needs the environment variable {variable}")
        return self._variables[variable]


def _value(name: str, answer: bytes) -> Value:
    try:
        match json.loads(answer):
            case {"value": bool() | int() | float() | str() | None as value}:
                return value
            case {"unavailable": str(why)}:
                raise Unavailable(f"the probe {name!r}: {why}")
            case _:
                raise Unavailable(f"the probe {name!r} gave no answer")
    except ValueError:
        raise Unavailable(f"the probe {name!r} gave no answer") from None
