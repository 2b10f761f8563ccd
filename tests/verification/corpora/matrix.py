"""The matrix of what was answered, what must hold of it, and the cases that people should look at."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from .judging import Row
from .truth import Truth

UNCLEAR_PERCENT_MAX: Final = 2
MUTANTS_MIN: Final = 600


def family(reason: str) -> str:
    """A reason without names and numbers."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", re.sub(r"\d+", "#", reason.partition("; isolation")[0]))[:110]


def table(rows: Sequence[Row]) -> Iterator[str]:
    """As Markdown: a line for each corpus and kind, then the unclear and the wrongly refused by reason."""
    judged = [row for row in rows if row.answer]
    counts = Counter((row.corpus, row.kind, _column(row)) for row in judged)
    columns = ("verified", "unclear: evidence", "unclear: verifier", "not_verified")
    yield f"| corpus | kind | judged | {' | '.join(columns)} |"
    yield f"|---|---|{'---:|' * (len(columns) + 1)}"
    for corpus, kind in dict.fromkeys((row.corpus, row.kind) for row in judged):
        numbers = [counts[corpus, kind, column] for column in columns]
        yield f"| {corpus} | {kind} | {' | '.join(map(str, [sum(numbers), *numbers]))} |"
    yield ""
    reasons = Counter((row.kind, _column(row), family(row.reason)) for row in judged if _is_telling(row))
    for (kind, column, reason), number in reasons.most_common():
        yield f"* {number} times {kind}, {column}: {reason}"


def noted(rows: Sequence[Row]) -> Iterator[str]:
    """Every reference that is not verified, everything wrong that is, and what was not judged, with the reason."""
    for row in rows:
        what = f"{row.corpus}/{row.item} {row.kind}{f' ({row.label})' if row.label else ''}"
        if not row.answer:
            yield f"{what}: not judged, plainly it {row.truth}"
        elif (row.kind == "reference") is not (row.answer == "verified") and (row.kind == "reference" or _slipped(row)):
            yield f"{what}: {row.answer} {row.cause}: {row.reason}"
        if row.replay and not row.replay.startswith("agrees"):
            yield f"{what}: replay {row.replay}"


def held(rows: Sequence[Row], *, whole: bool, may_be_unclear: bool = False) -> dict[str, bool]:
    """What must hold, and whether it does. Only the `whole` of the corpora must bring enough mutants.

    Of libraries, whose tests were not written to be split, any number `may_be_unclear`.
    """
    references = [row for row in rows if row.kind == "reference" and row.truth is Truth.PASSES]
    unclear = [row for row in references if row.answer == "unclear"]
    mutants = [row for row in rows if row.kind == "mutant"]
    share = f"at most {100 if may_be_unclear else UNCLEAR_PERCENT_MAX} % of the references unclear"
    share += f" ({len(unclear)} of {len(references)})"
    must = {
        "no reference not_verified": not any(row.answer == "not_verified" for row in references),
        share: may_be_unclear or 100 * len(unclear) <= UNCLEAR_PERCENT_MAX * len(references),
        "nothing wrong verified": not any(map(_slipped, rows)),
    }
    if any(row.replay for row in rows):
        replayed = [row.replay for row in rows if row.answer not in {"", "unclear"}]
        must["replay agrees"] = all(replay.startswith("agrees") for replay in replayed)
    if whole:
        must[f"{MUTANTS_MIN} mutants or more ({len(mutants)})"] = len(mutants) >= MUTANTS_MIN
    return must


def _slipped(row: Row) -> bool:
    return row.kind != "reference" and row.answer == "verified"


def _is_telling(row: Row) -> bool:
    return row.answer == "unclear" or (row.kind == "reference" and row.answer == "not_verified")


def _column(row: Row) -> str:
    return f"unclear: {row.cause}" if row.answer == "unclear" else row.answer
