"""Thousands of stories of processes that share books, each with its faults; and that they find what is wrong.

A seed that fails is named with the command that plays it again.
"""

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from earnest.audit import following
from earnest.effects.ground.storage import database, leases, postgresql_watch, reader, transaction
from earnest.journal import service
from earnest.runtime import bus_relay
from earnest.runtime.market import judging

from . import platform
from .story import Stage, staged

QUICK = 60
SEEDS = 10_000
PARTS = 20
FOUND_WITHIN = 200


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged() as made:
        yield made


def wrongs(stage: Stage, seeds: range) -> list[str]:
    stories = (stage.play(seed) for seed in seeds)
    return [f"cd tests && python -m runtime.simulated --seed {one.seed}: {one.wrongs}" for one in stories if one.wrongs]


@pytest.mark.slow
def test_whatever_goes_wrong_between_any_two_steps_nothing_is_lost_doubled_or_left(stage: Stage) -> None:
    assert wrongs(stage, range(QUICK)) == []


@pytest.mark.slow  # ten thousand of them
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_lost_doubled_or_left_in_any_of_many_stories(stage: Stage, part: int) -> None:
    each = SEEDS // PARTS
    assert wrongs(stage, range(part * each, (part + 1) * each)) == []


@pytest.mark.slow
def test_a_seed_is_the_same_story_each_time(stage: Stage) -> None:
    first, again = stage.play(7), stage.play(7)
    assert first.steps > 300
    assert (first.steps, first.told) == (again.steps, again.told)
    assert stage.play(8).told != first.told


class Mutation(NamedTuple):
    """A text of a function, and what stands there once the program is wrong."""

    module: ModuleType
    name: str
    text: str
    wrong: str


MUTATIONS = {
    "who comes second writes a verdict over the first": Mutation(
        judging,
        "give_verdict",
        "if submission.verdict or not is_newest:",
        "if submission.verdict:\n"
        "        given = _with_verdict(entry, submission, verdict)\n"
        "        SUBMISSIONS.change(entry.transaction, entry.now_ms, submission, given)\n"
        "    if submission.verdict or not is_newest:",
    ),
    "places in the log are counted in memory": Mutation(
        transaction,
        "PendingCommit.begin",
        "self.last_seq = self.writing.begin(ahead)",
        "newest = self.writing.begin(ahead); self.last_seq = self.last_seq or newest",
    ),
    "a lost commit is acknowledged": Mutation(
        database,
        "GroupWriter._commit",
        "[(part, None, refusals.get(id(part)) or why) for part in parts]",
        "[(part, 1, None) for part in parts]",
    ),
    "a lost connection is told as a fault of ours": Mutation(
        database,
        "GroupWriter._commit",
        "meaning_of((isinstance(error, GroupLostError) and error.__cause__) or error)",
        "meaning_of(error.__cause__ or error)",
    ),
    "a lost connection ends who wants to read": Mutation(
        reader, "ReadPool._opened", "raise meaning_of(error) from error", "raise"
    ),
    "who has lost an office goes on": Mutation(
        platform, "elected", "while not work.done() and database.leads(office):", "while not work.done():"
    ),
    "work that a fault has ended does not begin again": Mutation(
        platform, "kept_up", "except (EarnestError, OSError) as error:", "except ZeroDivisionError as error:"
    ),
    "a head is not of all facts before it": Mutation(
        service, "_grow", "grown.append(leaf)", "grown.append(leaf if grown.size % 50 else bytes(32))"
    ),
    "a head is not made in the transaction that records it": Mutation(
        service, "Sealer.seal", "seal_of(_grow(transaction, self._grown))", "seal_of(self._grown)"
    ),
    "messages that did not fit are forgotten": Mutation(bus_relay, "BusRelay._lose", "self._cut.add(run_id)", "pass"),
    "nothing says that the bus may lack messages": Mutation(
        bus_relay, "BusRelay._note", "(self._folder / run_id).touch(mode=0o600)", "pass"
    ),
    "what is sent leaves the queue before": Mutation(
        bus_relay,
        "BusRelay._tell",
        "await self._writer.send([self._message(one) for one in batch])",
        "self._waiting.clear(); await self._writer.send([self._message(one) for one in batch]); "
        "self._waiting.extendleft(reversed(batch))",
    ),
    "what the stream let go is not counted": Mutation(
        following, "HeardBus.follow", "self.dropped += message.place - place - 1", "pass"
    ),
    "an auditor begins again where it began before": Mutation(
        following, "HeardBus.follow", "found = await reader.read(place)", "found = await reader.read(max(0, place - 1))"
    ),
}
CONSTANTS: dict[str, list[tuple[Any, str, object]]] = {
    "an office is held to be one's own for longer than the server keeps it": [
        (postgresql_watch, "CERTAIN_NS", 10_000_000_000)
    ],
    "the lease of who died is never taken over": [
        (leases, "_TAKE", "INSERT INTO leases (id, holder, until_ms) SELECT ?, ?, ? WHERE ? > 0 ON CONFLICT DO NOTHING")
    ],
}


def mutated(one: Mutation) -> Any:
    """The function with the other text, in its own module."""
    owner: Any = one.module
    *classes, name = one.name.split(".")
    for each in classes:
        owner = getattr(owner, each)
    source = getattr(owner, name)
    text = textwrap.dedent(inspect.getsource(source))
    assert one.text in text, f"{one.name} has changed: say anew what its mutation is"
    made: dict[str, Any] = {}
    exec(text.replace(one.text, one.wrong), source.__globals__, made)
    return patch.object(owner, name, made[name])


def is_found(stage: Stage) -> bool:
    return any(stage.play(seed).wrongs for seed in range(FOUND_WITHIN))


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_program_that_is_wrong_is_found(stage: Stage, name: str) -> None:
    with mutated(MUTATIONS[name]):
        assert is_found(stage)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONSTANTS)
def test_a_rule_that_is_wrong_is_found(stage: Stage, name: str) -> None:
    with ExitStack() as stack:
        for one in CONSTANTS[name]:
            stack.enter_context(patch.object(*one))
        assert is_found(stage)
