"""The control of a tick on LangGraph: the same five functions as nodes, its checkpoints on SQLite or PostgreSQL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from earnest.agents.loop import STEPS
from earnest.agents.means import Means
from earnest.agents.state import AgentState
from earnest.foundation.errors import Unavailable

FILE_NAME: Final = "checkpoints.sqlite"


class Graph:
    """See `Control`. Each node's result is durable before the next one begins; of an ended tick nothing stays.

    `address` of a PostgreSQL database; empty: a file in `folder`. `thread`: the agent, whose name no other one has
    there. LangGraph takes 40 MB, so it is imported when a tick begins; and while none runs, no database is held open.
    """

    def __init__(self, folder: Path, means: Means, *, address: str = "", thread: str = "agent") -> None:
        self._path = folder / FILE_NAME
        self._means = means
        self._address = address
        self._thread = thread
        self._config: Any = {"configurable": {"thread_id": thread}}

    async def interrupted(self) -> AgentState | None:
        """See `Control`."""
        async with self._opened() as graph:
            found = await graph.aget_state(self._config)
        is_under_way = bool(found.next) and found.next != ("perceive",)
        return found.values if is_under_way else None

    async def run(self, state: AgentState | None) -> AgentState:
        """See `Control`."""
        async with self._opened() as graph:
            if state is not None:
                await graph.checkpointer.adelete_thread(self._thread)
            ended: AgentState = await graph.ainvoke(state, self._config, durability="sync")
            await graph.checkpointer.adelete_thread(self._thread)
        return ended

    async def forget(self) -> None:
        """See `Control`."""
        async with self._opened() as graph:
            await graph.checkpointer.adelete_thread(self._thread)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Any]:
        from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

        builder: Any = StateGraph(AgentState)
        for name, step in STEPS.items():

            async def node(state: AgentState, step: Any = step) -> AgentState:
                ended: AgentState = await step(state, self._means)
                return ended

            builder.add_node(name, node)
        for before, after in zip([START, *STEPS], [*STEPS, END], strict=True):
            builder.add_edge(before, after)
        async with _postgresql(self._address) if self._address else _sqlite(self._path) as saver:
            yield builder.compile(checkpointer=saver)


@asynccontextmanager
async def _sqlite(path: Path) -> AsyncIterator[Any]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415

    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield saver


@asynccontextmanager
async def _postgresql(address: str) -> AsyncIterator[Any]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415 - of an extra
    from psycopg import Error  # noqa: PLC0415

    try:
        async with AsyncPostgresSaver.from_conn_string(address) as saver:
            await saver.setup()
            yield saver
    except Error as error:
        raise Unavailable(f"the database of the checkpoints: {error}") from None
