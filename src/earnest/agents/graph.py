"""The control of a tick on LangGraph: the same five functions as nodes, with its checkpointer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from earnest.agents.loop import STEPS
from earnest.agents.means import Means
from earnest.agents.state import AgentState

FILE_NAME: Final = "checkpoints.sqlite"
THREAD: Final = "agent"
CONFIG: Final[Any] = {"configurable": {"thread_id": THREAD}}


class Graph:
    """See `Control`. Each node's result is on the disk before the next one begins; of an ended tick nothing stays."""

    def __init__(self, graph: Any, saver: AsyncSqliteSaver) -> None:
        self._graph = graph
        self._saver = saver

    async def interrupted(self) -> AgentState | None:
        """See `Control`."""
        found = await self._graph.aget_state(CONFIG)
        is_under_way = bool(found.next) and found.next != ("perceive",)
        return found.values if is_under_way else None

    async def run(self, state: AgentState | None) -> AgentState:
        """See `Control`."""
        if state is not None:
            await self.forget()
        ended: AgentState = await self._graph.ainvoke(state, CONFIG, durability="sync")
        await self.forget()
        return ended

    async def forget(self) -> None:
        """See `Control`."""
        await self._saver.adelete_thread(THREAD)


@asynccontextmanager
async def open_graph(folder: Path, means: Means) -> AsyncIterator[Graph]:
    """The graph with its checkpoints in `folder`, which is there."""
    builder: Any = StateGraph(AgentState)
    for name, step in STEPS.items():

        async def node(state: AgentState, step: Any = step) -> AgentState:
            ended: AgentState = await step(state, means)
            return ended

        builder.add_node(name, node)
    for before, after in zip([START, *STEPS], [*STEPS, END], strict=True):
        builder.add_edge(before, after)
    async with AsyncSqliteSaver.from_conn_string(str(folder / FILE_NAME)) as saver:
        yield Graph(builder.compile(checkpointer=saver), saver)
