"""A model that follows a script, so that anybody can repeat the session of README.md: prints where it listens.

It first says that it is done without having done anything. Runs until its standard input ends.
"""

import asyncio
import sys

from earnest.testing.model_server import ModelServer, answers, by_prompt

TESTS = {"text": "the tests pass", "check": {"kind": "command", "command": "cd tides && python3 -m unittest"}}
PLAN = {
    "task_criteria": [TESTS],
    "subtasks": [{"sequence": 1, "intent": "Mend tides.py", "criteria": [TESTS]}],
    "rules": [],
}
MEND = "sed -i 's|total // 60:02d|total // 60 % 24:02d|' tides/tides.py"
SCRIPT = {
    "perceiver": answers({"kind": "task", "intent": "Mend the failing test of tides", "task_class": "mend_test"}),
    "planner": answers(PLAN),
    "executor": [
        answers({"done": {"status": "completed", "output": "All tests pass now."}}),
        answers({"calls": [{"tool": "shell", "args": {"command": MEND}}]}),
        answers({"done": {"status": "completed", "output": "later() wraps around midnight now."}}),
    ],
}


async def main() -> None:
    async with ModelServer(by_prompt(**SCRIPT)) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
