"""A part of the corpus, judged by whoever starts this program; prints the answers as JSON, by case."""

import asyncio
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from verification.cheats.case import Case, cheats, honest
from verification.cheats.judging import judge_all

OF_TIME = re.compile("passed the limit of (wall|cpu) time")


def representative() -> list[Case]:
    """The first two of each family, and every fifth honest one."""
    seen: dict[str, int] = {}
    chosen = []
    for case in cheats():
        family = case.name.partition("/")[0]
        seen[family] = seen.get(family, 0) + 1
        if seen[family] <= 2:
            chosen.append(case)
    return [*chosen, *honest()[::5]]


def answers() -> dict[str, str]:
    """The answer to each of them, and the reason where there is none.

    Which limit of time a submission passes first, and so how it is turned down, depends on how busy the machine is.
    """
    outcomes = asyncio.run(judge_all(representative()))
    return {
        name: "it took too long" if OF_TIME.search(outcome.reason) else outcome.answer or outcome.reason
        for name, outcome in outcomes.items()
    }


if __name__ == "__main__":
    print(json.dumps(answers()))
