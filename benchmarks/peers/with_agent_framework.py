"""Microsoft Agent Framework: an executor for each call, a checkpoint in a file after each superstep."""

# mypy: ignore-errors

import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from agent_framework import Agent, Executor, FileCheckpointStorage, WorkflowBuilder, WorkflowContext, handler
from agent_framework.openai import OpenAIChatCompletionClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from measuring import ASKED, CHAIN, FAN, SYSTEM, print_alone


class Ask(Executor):
    def __init__(self, name: str, agent: Agent) -> None:
        super().__init__(name)
        self._agent = agent

    @handler
    async def ask(self, asked: str, context: WorkflowContext[str]) -> None:
        answer = await self._agent.run(asked)
        assert answer.text.startswith("{")
        await context.send_message(asked)


def workflow(calls, agent, storage):
    executors = [Ask(f"call{number}", agent) for number in range(calls)]
    builder = WorkflowBuilder(name="peer", start_executor=executors[0], checkpoint_storage=storage)
    return (builder.add_chain(executors) if calls > 1 else builder).build()


@asynccontextmanager
async def opened(url):
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(OpenAIChatCompletionClient(model="mock", base_url=url, api_key="none"), SYSTEM)
        storage = FileCheckpointStorage(folder)
        idle = {calls: [workflow(calls, agent, storage) for _ in range(many)] for calls, many in ((1, FAN), (CHAIN, 1))}

        async def side(calls):
            one = idle[calls].pop()  # a workflow runs once at a time
            await one.run(ASKED)
            idle[calls].append(one)

        yield side


if __name__ == "__main__":
    print_alone(opened)
