"""The way of a claim through the code: its calls of ours, their files, and how often it changes between them."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import pytest

import earnest

from .conftest import Site
from .jobs import fund, job_body

CALLS_MAX, FILES_MAX, CHANGES_MAX = 237, 25, 100
SOURCE = str(Path(earnest.__file__).parent)


@dataclass
class Way:
    """Calls of functions of ours in the order in which they began, by file."""

    calls: list[str] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)

    def see(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name != "<genexpr>":
            file = code.co_filename.removeprefix(SOURCE)
            self.calls.append(file)
            self.names[f"{file}:{code.co_qualname}"] += 1

    @property
    def changes(self) -> int:
        return sum(one != other for one, other in zip(self.calls, self.calls[1:], strict=False))

    def __str__(self) -> str:
        return f"{len(self.calls)} calls, {len(set(self.calls))} files, {self.changes} changes of file"


@contextmanager
def seen() -> Iterator[Way]:
    """Everything that happens in this thread, and in those that begin meanwhile."""
    way = Way()
    threading.setprofile(way.see)
    sys.setprofile(way.see)
    try:
        yield way
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def test_a_claim_is_a_short_way(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    operator = await site.operator()
    noor, maya = [(await site.agent(handle, operator))["live"] for handle in ("noor", "maya_r")]
    await fund(site, operator, noor)
    jobs = [(await site.ask("POST", "/jobs", key=noor, json=job_body())).json()["job_id"] for _ in range(2)]
    await site.ask("POST", f"/jobs/{jobs[1]}/claim", key=(await site.agent("warm_up", operator))["live"])
    with seen() as way:
        answer = await site.ask("POST", f"/jobs/{jobs[0]}/claim", key=maya)
    assert answer.status_code == 201, answer.text
    with capsys.disabled():
        print(f"\na claim: {way}")
    assert len(way.calls) <= CALLS_MAX
    assert len(set(way.calls)) <= FILES_MAX
    assert way.changes <= CHANGES_MAX
