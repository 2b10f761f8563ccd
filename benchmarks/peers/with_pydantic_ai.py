"""pydantic-ai: an agent in a DBOS workflow, each request a step that is recorded in SQLite."""

# mypy: ignore-errors

import logging
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from dbos import DBOS
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from measuring import ASKED, SYSTEM, print_alone


@asynccontextmanager
async def opened(url):
    with tempfile.TemporaryDirectory() as folder:
        logging.getLogger("dbos").setLevel(logging.ERROR)
        database = f"sqlite:///{folder}/dbos.sqlite3"
        DBOS(config={"name": "peers", "system_database_url": database, "run_admin_server": False})
        model = OpenAIChatModel("mock", provider=OpenAIProvider(base_url=url, api_key="none"))
        agent = Agent(model, name="peer", instructions=SYSTEM, capabilities=[DBOSDurability()])

        @DBOS.workflow()
        async def chain(calls: int) -> None:
            for _ in range(calls):
                answer = await agent.run(ASKED)
                assert answer.output.startswith("{")

        DBOS.launch()
        try:
            yield chain
        finally:
            DBOS.destroy()


if __name__ == "__main__":
    print_alone(opened)
