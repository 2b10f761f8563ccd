"""Is the fast canonical form always the one of RFC 8785?"""

import enum
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from earnest.foundation.canonical import JsonValue, canonical_bytes, digest_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda children: st.lists(children) | st.lists(children).map(tuple) | st.dictionaries(TEXT, children),
    max_leaves=30,
)


@pytest.mark.slow
@given(VALUES)
def test_every_json_value_has_the_form_that_rfc8785_gives_it(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@pytest.mark.slow
@given(st.dictionaries(st.text(st.sampled_from("aZ\uffff\U00010000é\x00\x7f\u2028")), SCALARS))
def test_keys_are_sorted_by_utf16_unit(value: dict[str, Any]) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    SMALL = 1


@pytest.mark.parametrize("value", [{"colour": Colour.RED}, {Colour.RED: 1}, {"size": Size.SMALL}, [1.0, -0.0, 1e21]])
def test_subclasses_and_floats_have_the_form_that_rfc8785_gives_them(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


def _circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


@pytest.mark.parametrize(
    "value",
    [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, {None: 1}, b"", {1, 2}, _circle()],
    ids=repr,
)
def test_what_json_cannot_say_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        canonical_bytes(value)
    with pytest.raises(ValueError, match=r".+"):
        canonical_bytes({"in": [value]})


def test_a_digest_names_its_algorithm() -> None:
    empty: JsonValue = {}
    assert digest_of(empty) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
