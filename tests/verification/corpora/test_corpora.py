"""A part of the corpora, judged with the tests as published."""

from pathlib import Path

import pytest

from earnest.foundation.errors import Unavailable

from . import sources
from .judging import Row, judge_all
from .matrix import held, noted
from .mutating import mutants
from .truth import Truth

EVERY = 12
"""One item in so many; which ones is always the same."""


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_references_are_verified_and_nothing_wrong_is(tmp_path: Path) -> None:
    if gone := sources.missing():
        pytest.skip(gone)
    try:
        rows, _ = await judge_all(
            sources.items()[::EVERY], tmp_path / "plain.json", mutants_each=1, seed=1, replay=True
        )
    except Unavailable as error:
        pytest.skip(str(error))
    assert sum(row.kind == "reference" for row in rows) >= 30
    assert all(held(rows, whole=False).values()), "\n".join(noted(rows))


def test_a_mutant_differs_from_its_program_and_is_drawn_once() -> None:
    program = b"def double(n):\n    if n < 0:\n        return -2 * -n\n    return 2 * n\n"
    drawn = [mutant for _, mutant in mutants(program, "seed")]
    assert len(set(drawn)) == len(drawn) >= 5
    assert program not in drawn
    assert drawn == [mutant for _, mutant in mutants(program, "seed")]
    assert drawn != [mutant for _, mutant in mutants(program, "another")]


def test_one_reference_that_is_turned_away_does_not_hold() -> None:
    row = Row(corpus="a", item="b", kind="reference", truth=Truth.PASSES, answer="not_verified")
    assert not all(held([row], whole=False).values())


def test_one_mutant_that_is_verified_does_not_hold() -> None:
    row = Row(corpus="a", item="b", kind="mutant", truth=Truth.FAILS, answer="verified")
    assert not all(held([row], whole=False).values())
