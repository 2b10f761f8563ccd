"""`earnest`, which kills itself at its first heartbeat: before the verdicts are recorded, or just after."""

import os
import signal
from typing import Any

from earnest.runtime.accountability import judging
from earnest.surfaces.cli.main import main

given, judged = judging.give_verdicts, judging.HeartbeatJudging._work


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def give_and_die(entry: Any, heartbeat_id: str, asked: Any, found: Any) -> Any:
    given(entry, heartbeat_id, asked, found)
    die()


async def judge_and_die(self: judging.HeartbeatJudging, key: str) -> None:
    await judged(self, key)
    die()


if os.environ["KILLED"] == "within":
    judging.give_verdicts = give_and_die
else:
    judging.HeartbeatJudging._work = judge_and_die  # type: ignore[method-assign, assignment]
main()
