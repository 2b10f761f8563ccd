"""Does an executor that recalls its failures repeat fewer of them? A seeded simulation; prints one JSON object.

`python benchmarks/recall.py [--agents N]`. An agent of each seed takes 20 jobs, once with its memory and once without,
of the same offers with the same luck. There are six kinds of work; at two of them, other ones for each agent, it fails
nine times in ten, at the others once. Each tick shows three open jobs of random kinds and prices. `recall`, `decide`
with its guards, and the book are the resident agent's own; only platform and work are made up.

The decision is code's, or a scripted model's. The script reads the prompt as a model would and nothing else: it takes
the best paid job of a kind that did not fail more often than it went well among what the prompt tells as remembered.
What this cannot show: how well a real model heeds what it is reminded of.
"""

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final, cast

from earnest.agents.backlog import Backlog
from earnest.agents.book import JsonLinesBook
from earnest.agents.decide import decide
from earnest.agents.means import Means
from earnest.agents.recall import OUTCOME, recall
from earnest.agents.state import AgentRole, AgentState, Memories, class_of, fresh_state
from earnest.client.payloads import Job
from earnest.effects.outside.llm.api import Message
from earnest.foundation.canonical import JsonObject

JOBS: Final = 20
TICKS_MAX: Final = 400
TICK_MS: Final = 30 * 60_000
OPEN: Final = 3
KINDS: Final = tuple((category, check) for category in ("data", "code", "text") for check in ("json_schema", "stdout"))
HARD: Final = 2
FAILS: Final = {True: 0.9, False: 0.1}
IN_MEMORY: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Nothing is measured of the disk."""
_OFFER: Final = re.compile(r"<<<DATA (job\S+) \w+>>>\n.* · (\w+) · (\d+) micro .*\n.*\nC1: .*\((\w+)\)")
_MEMORY: Final = r"<<<DATA {} \w+>>>\n(.*?)\n<<<END"


@dataclass
class Script:
    """A model that does as the prompt asks."""

    async def choose(self, messages: Sequence[Message], form: JsonObject) -> JsonObject:  # noqa: ARG002
        asked = "\n".join(message.text for message in messages)
        failed, went_well = (_kinds(asked, name) for name in ("failures", "successes"))
        offers = [(int(pay), job, f"{category}/{check}") for job, category, pay, check in _OFFER.findall(asked)]
        assert len(offers) == OPEN, "the prompt has another form"
        good = [one for one in offers if failed[one[2]] <= went_well[one[2]]]
        why = {"goal": "earn", "facts": ["of what is open"], "expected_value": "its pay"}
        if not good:
            return {"kind": "noop", "why": why}
        return {"kind": "execute_job", "job_id": max(good)[1], "claim_id": "", "why": why}


def _kinds(asked: str, name: str) -> Counter[str]:
    found = re.search(_MEMORY.format(name), asked, re.DOTALL)
    assert found is not None, "the prompt has another form"
    return Counter(line.partition(" ")[0] for line in found[1].splitlines() if "/" in line)


def offered(chance: random.Random, tick: int) -> list[Job]:
    return [_job(f"job_{tick}_{at}", *chance.choice(KINDS), chance.randrange(1, 10)) for at in range(OPEN)]


def _job(job_id: str, category: str, check: str, pay: int) -> Job:
    members: dict[str, Any] = {
        "job_id": job_id,
        "title": f"Work of {category}",
        "category": category,
        "text": "Do it.",
        "amount_micro": pay * 1_000_000,
        "fee_micro": 0,
        "currency": "AID",
        "acceptance": "machine",
        "criteria": [{"id": "C1", "text": "it is done", "check": {"kind": check}}],
    }
    return cast("Job", members)


async def lived(seed: int, folder: Path, mind: Script | None, *, remembers: bool) -> dict[str, float]:
    """An agent's first `JOBS` jobs: failures, those of a kind that had failed it before, and ticks that it took."""
    chance = random.Random(seed)
    hard = chance.sample(KINDS, HARD)
    nobody = cast("Any", None)
    book = JsonLinesBook(folder)
    means = Means(
        client=nobody,
        role=AgentRole.EXECUTOR,
        folder=folder,
        book=book,
        backlog=Backlog((), book),
        hands=nobody,
        teacher=nobody,
        clock=nobody,
        world=nobody,
        mind=mind,
    )
    failed, repeated, done, tick = Counter[str](), 0, 0, 0
    while done < JOBS and tick < TICKS_MAX:
        tick += 1
        jobs, luck = offered(chance, tick), chance.random()
        state = await recall(_state(tick, jobs), means)
        if not remembers:
            state = {**state, "memories": Memories(failures=[], successes=[], answers=[], shared=[])}
        action = (await decide(state, means))["action"]
        assert action is not None
        if action["kind"] != "execute_job":
            continue
        (job,) = [one for one in jobs if one["job_id"] == action["job_id"]]
        kind = class_of(job)
        is_bad = luck < FAILS[tuple(kind.split("/")) in hard]
        repeated += is_bad and failed[kind] > 0
        failed[kind] += is_bad
        done += 1
        members = {"about": kind, "job_id": job["job_id"], "is_good": not is_bad, "text": f"{job['title']}: judged"}
        book.add(OUTCOME, job["job_id"], **members, at_ms=tick * TICK_MS)
    return {"failed": failed.total(), "repeated": repeated, "done": done, "ticks": tick}


def _state(tick: int, jobs: list[Job]) -> AgentState:
    account = {"balance_micro": 0, "currency": "AID"}
    state = fresh_state(f"t{tick}", tick * TICK_MS, AgentRole.EXECUTOR, cast("Any", {"your_account": account}))
    return {**state, "jobs": {**state["jobs"], "available": sorted(jobs, key=lambda job: -job["amount_micro"])}}


async def compared(agents: int, mind: Script | None) -> dict[str, float]:
    """Means over the agents, with memory and without, and the share of agents that repeat fewer, more."""
    pairs: list[tuple[dict[str, float], dict[str, float]]] = []
    for seed in range(agents):
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            places = [Path(folder) / name for name in ("with", "without")]
            with_it, without = [await lived(seed, place, mind, remembers=place.name == "with") for place in places]
            pairs.append((with_it, without))
    told = {
        f"{key}_{name}": mean(one[at][key] for one in pairs)
        for at, name in enumerate(("with", "without"))
        for key in ("failed", "repeated", "done", "ticks")
    }
    return told | {
        "repeated_ratio": told["repeated_with"] / told["repeated_without"],
        "fewer_permille": mean(1_000 * (one["repeated"] < other["repeated"]) for one, other in pairs),
        "more_permille": mean(1_000 * (one["repeated"] > other["repeated"]) for one, other in pairs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=200)
    agents = parser.parse_args().agents
    found = {name: asyncio.run(compared(agents, mind)) for name, mind in (("code", None), ("model", Script()))}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
