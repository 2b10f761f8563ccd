"""The control of a tick without LangGraph: the five functions in a row, and a checkpoint after each."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from earnest.agents.act import act
from earnest.agents.decide import decide
from earnest.agents.means import Means
from earnest.agents.perceive import perceive
from earnest.agents.recall import recall
from earnest.agents.reflect import reflect
from earnest.agents.state import AgentState
from earnest.client.private_file import write_private
from earnest.foundation.errors import Refused

Step: TypeAlias = Callable[[AgentState, Means], Awaitable[AgentState]]
STEPS: Final[dict[str, Step]] = {
    "perceive": perceive,
    "recall": recall,
    "decide": decide,
    "act": act,
    "reflect": reflect,
}
FILE_NAME: Final = "checkpoint.json"


class Control(Protocol):
    """Runs ticks, and goes on with one that a kill has interrupted."""

    async def interrupted(self) -> AgentState | None:
        """The tick that was begun and has not ended, as far as it had seen anything."""

    async def run(self, state: AgentState | None) -> AgentState:
        """A tick from its beginning; None: the rest of the interrupted one. Raises `Problem`, `Unavailable`."""

    async def forget(self) -> None:
        """Give the interrupted tick up."""


class PlainLoop:
    """See `Control`. The checkpoint is one file, written whole or not at all."""

    def __init__(self, folder: Path, means: Means) -> None:
        self._path = folder / FILE_NAME
        self._means = means

    async def interrupted(self) -> AgentState | None:
        """See `Control`."""
        found = self._kept()
        return None if found is None else found[1]

    async def run(self, state: AgentState | None) -> AgentState:
        """See `Control`."""
        names = list(STEPS)
        if state is None:
            kept = self._kept()
            assert kept is not None, "no tick was interrupted"
            done, state = kept
            names = names[names.index(done) + 1 :]
        for name in names:
            state = await STEPS[name](state, self._means)
            write_private(self._path, f"{json.dumps({'done': name, 'state': state})}\n")
        self._path.unlink()
        return state

    async def forget(self) -> None:
        """See `Control`."""
        self._path.unlink(missing_ok=True)

    def _kept(self) -> tuple[str, AgentState] | None:
        try:
            found: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            return (found["done"], found["state"]) if found["done"] in STEPS else None
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise Refused("checkpoint_damaged", f"{self._path} is no checkpoint: {error}; delete it") from None
