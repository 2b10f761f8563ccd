"""The cases of an item, what is plainly true of each, and what the verifier answers, in one process."""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.spec import VerificationSpec
from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.foundation.errors import Unavailable
from earnest.runtime.judging import Keeping, judged, replayed
from earnest.runtime.verdict_book import VerdictBook
from earnest.testing.check_conformance import write
from earnest.verification.registry import Registry
from earnest.verification.service import PARALLEL_CHECKS, Verifier

from .mutating import mutants
from .sources import Item
from .truth import CPU_S, Plain, Truth

DRAWS_A_MUTANT: Final = 5
"""So many are drawn, at most, for each that shall fail plainly."""
BOOK_BYTES_MAX: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One submission: what it is, what is plainly true of it, what was answered. `replay` is empty if not asked for."""

    corpus: str
    item: str
    kind: str
    label: str = ""
    truth: Truth
    answer: str = ""
    cause: str = ""
    reason: str = ""
    replay: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """A verifier as the command has it, and what is drawn: `mutants` of each item, by `seed`."""

    sandbox: Sandbox
    plain: Plain
    scratch: Path
    mutants: int
    seed: int
    replay: bool

    async def rows(self, items: Sequence[Item]) -> list[Row]:
        """Every case of every item, as many items at a time as a verifier runs checks."""
        slots = asyncio.Semaphore(PARALLEL_CHECKS)
        verifier = Verifier(registry=Registry(), sandbox=self.sandbox, clock=SystemClock())
        began, done = time.monotonic(), 0

        async def one(item: Item) -> list[Row]:
            nonlocal done
            async with slots:
                rows = [row async for row in _Cases(self, verifier, item).rows()]
            done += 1
            told = f"{done}/{len(items)} items, {time.monotonic() - began:.0f} s: {item.corpus}/{item.name}"
            print(told, *(f"{row.kind}={row.answer or row.truth}" for row in rows), file=sys.stderr, flush=True)
            return rows

        return [row for rows in await asyncio.gather(*map(one, items)) for row in rows]


class _Cases:
    """The reference, what is known to be wrong, and mutants of the reference that fail plainly."""

    def __init__(self, judging: Judging, verifier: Verifier, item: Item) -> None:
        self._judging = judging
        self._verifier = verifier
        self._item = item

    async def rows(self) -> AsyncIterator[Row]:
        """Each, judged."""
        item = self._item
        reference = await self._row("reference", "", item.reference, Truth.PASSES)
        yield reference
        if reference.truth is not Truth.PASSES:
            return
        for kind, program in item.wrong.items():
            yield await self._row(kind, "", program, Truth.FAILS, Truth.HANGS)
        found = 0
        for label, mutant in self._drawn():
            if found == self._judging.mutants:
                return
            row = await self._row("mutant", label, mutant, Truth.FAILS)
            if row.truth is Truth.FAILS:
                found += 1
                yield row

    def _drawn(self) -> Iterator[tuple[str, bytes]]:
        wanted = self._judging.mutants
        drawn = mutants(self._item.reference, f"{self._judging.seed}/{self._item.corpus}/{self._item.name}")
        return (each for _, each in zip(range(wanted * DRAWS_A_MUTANT), drawn, strict=False))

    async def _row(self, kind: str, label: str, solution: bytes, *wanted: Truth) -> Row:
        """Judged only if the plain truth is what is wanted."""
        item, work = self._item, self._item.work(solution)
        truth = await self._judging.plain.truth(item.tests, work, item.limits.get("cpu_s", CPU_S))
        row = Row(corpus=item.corpus, item=item.name, kind=kind, label=label, truth=truth)
        return await self._judged(row, work) if truth in wanted else row

    async def _judged(self, row: Row, work: dict[str, bytes]) -> Row:
        config = {"module": self._item.module, "tests": sorted(self._item.tests)}
        check = CheckSpec(kind="unit_tests", config=config, limits=self._item.limits or None)
        criterion = Criterion(id="C1", text="the published tests pass", check=check)
        spec = VerificationSpec(title=self._item.name, text="see the tests", criteria=(criterion,))
        with tempfile.TemporaryDirectory(dir=self._judging.scratch) as place:
            beside, submission = write(Path(place) / "spec", self._item.tests), write(Path(place) / "work", work)
            book = VerdictBook(Path(place) / "verdicts", BOOK_BYTES_MAX)
            keeping = Keeping(book=book, clock=SystemClock()) if self._judging.replay else None
            result = await judged(self._verifier, spec, beside, submission, keep_in=keeping)
            again = ""
            if result.id:
                comparisons = (await replayed(self._verifier, Registry(), book, result.id)).comparisons
                again = f"{comparisons[0].agreement}: {comparisons[0].detail}"
        (answer,) = result.verdict.criteria
        return replace(
            row,
            answer=answer.answer.value,
            cause=answer.cause.value if answer.cause else "",
            reason=answer.reason,
            replay=again,
        )


async def judge_all(
    items: Sequence[Item], kept: Path, *, mutants_each: int, seed: int, replay: bool
) -> tuple[list[Row], str]:
    """The rows, and the sandbox that they were judged in. Raises `Unavailable` without one."""
    sandbox = await open_sandbox(SandboxSettings(), SystemClock())
    plain = Plain.open(kept)
    try:
        test = await sandbox.self_test()
        if not test.green:
            raise Unavailable(test.reason)
        with tempfile.TemporaryDirectory(prefix="corpora-") as scratch:
            judging = Judging(
                sandbox=sandbox, plain=plain, scratch=Path(scratch), mutants=mutants_each, seed=seed, replay=replay
            )
            return await judging.rows(items), sandbox.description
    finally:
        plain.keep()
        await sandbox.close()
