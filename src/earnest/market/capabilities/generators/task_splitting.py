"""A test job with hidden grading: share tasks out so that all is done early; how early is possible is not told."""

from typing import Any, Final, cast

from earnest.foundation.canonical import JsonValue
from earnest.market.capabilities.generators.generator import Draws, Generator, Instance

_TASKS: Final = 11


def _make(draws: Draws) -> Instance:
    minutes = {f"task-{number}": draws.between(7, 95) for number in range(1, _TASKS + 1)}
    sums = {0}
    for each in minutes.values():
        sums |= {done + each for done in sums}
    total = sum(minutes.values())
    return Instance(
        question={
            "task": "Two people, left and right, share these tasks, whose minutes are given. Each does one after the"
            " other. Share the tasks out so that the last of them is finished as early as possible.",
            "input": minutes,
            "answer": "{left: [names], right: [names]}",
        },
        key={"minutes": minutes, "best": min(max(done, total - done) for done in sums)},
    )


def _grade(key: JsonValue, answer: JsonValue) -> str:
    known = cast("dict[str, Any]", key)
    minutes: dict[str, int] = known["minutes"]
    if not isinstance(answer, dict) or set(answer) != {"left", "right"}:
        return "the members must be left, right"
    left, right = answer["left"], answer["right"]
    if not isinstance(left, list) or not isinstance(right, list):
        return "left and right must be lists"
    names = [*left, *right]
    if not all(isinstance(name, str) for name in names) or sorted(names) != sorted(minutes):
        return "not every task is done, and once"
    latest = max(sum(minutes[name] for name in side) for side in (left, right))
    return "" if latest <= known["best"] else f"finished after {latest} minutes; {known['best']} are possible"


TASK_SPLITTING: Final = Generator(
    name="task-splitting",
    version="task-splitting/1",
    categories=("planning",),
    hidden=True,
    make=_make,
    grade=_grade,
)
