"""CrewAI: a flow with a method for each call, its state persisted in SQLite after each."""

# mypy: ignore-errors

import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from crewai import LLM
from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import SQLiteFlowPersistence, persist

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from measuring import ASKED, SYSTEM, print_alone

MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ASKED}]


def flows(model, persistence):
    async def ask():
        answer = await model.acall(MESSAGES)
        assert answer.startswith("{")

    @persist(persistence)
    class One(Flow):
        @start()
        async def call0(self):
            await ask()

    @persist(persistence)
    class Five(Flow):
        @start()
        async def call0(self):
            await ask()

        @listen(call0)
        async def call1(self):
            await ask()

        @listen(call1)
        async def call2(self):
            await ask()

        @listen(call2)
        async def call3(self):
            await ask()

        @listen(call3)
        async def call4(self):
            await ask()

    return {1: One, 5: Five}


@asynccontextmanager
async def opened(url):
    with tempfile.TemporaryDirectory() as folder:
        model = LLM(model="mock", provider="openai", base_url=url, api_key="none")
        kinds = flows(model, SQLiteFlowPersistence(f"{folder}/flows.sqlite3"))

        async def side(calls):
            await kinds[calls](suppress_flow_events=True).kickoff_async()

        yield side


if __name__ == "__main__":
    print_alone(opened)
