"""LangGraph: a node for each call, checkpoints in SQLite, each durable before the next step."""

# mypy: ignore-errors

import itertools
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from measuring import ASKED, CHAIN, SYSTEM, print_alone


class State(TypedDict):
    answer: str


def graph(calls, model, saver):
    async def ask(_: State) -> State:
        answer = await model.ainvoke([("system", SYSTEM), ("user", ASKED)])
        return {"answer": answer.text}

    builder = StateGraph(State)
    names = [f"call{number}" for number in range(calls)]
    for name in names:
        builder.add_node(name, ask)
    for before, after in itertools.pairwise([START, *names, END]):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=saver)


@asynccontextmanager
async def opened(url):
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(f"{folder}/checkpoints.sqlite3") as saver:
            model = ChatOpenAI(model="mock", base_url=url, api_key="none", use_responses_api=False)
            graphs = {calls: graph(calls, model, saver) for calls in (1, CHAIN)}
            threads = itertools.count()

            async def side(calls):
                config = {"configurable": {"thread_id": str(next(threads))}}
                result = await graphs[calls].ainvoke({"answer": ""}, config, durability="sync")
                assert result["answer"].startswith("{")

            yield side


if __name__ == "__main__":
    print_alone(opened)
