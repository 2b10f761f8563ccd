"""Two checks that cannot both pass, and pairs that can."""

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.foundation.canonical import JsonObject
from earnest.verification.exclusion import excluding


def files(number: int, **item: JsonObject | str | int) -> Criterion:
    config: JsonObject = {"required": [{"path": "note.txt", **item}]}
    return Criterion(id=f"C{number}", text="as it says", check=CheckSpec(kind="files", config=config))


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (files(1, exact="yes"), files(2, min_bytes=4), "larger"),
        (files(1, exact="yes"), files(2, max_bytes=2), "larger"),
        (files(1, min_bytes=9), files(2, max_bytes=8), "larger"),
        (files(1, exact="yes"), files(2, exact="no"), "two contents"),
        (files(1, exact="yes"), files(2, contains="no"), "contain"),
        (files(1, exact="yes"), files(2, min_bytes=3, max_bytes=3), ""),
        (files(1, min_bytes=8), files(2, max_bytes=8), ""),
    ],
)
def test_what_excludes_another_is_told_in_either_order(one: Criterion, other: Criterion, words: str) -> None:
    for pair in ((one, other), (other, one)):
        said = excluding(pair, "C1, C2")
        assert bool(said) == bool(words)
        assert words in said
