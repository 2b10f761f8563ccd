"""Values with some fields replaced."""

import dataclasses
from dataclasses import FrozenInstanceError, dataclass

import pytest

from earnest.foundation.shapes import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slotted:
    name: str
    count: int = 0
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plain:
    name: str
    count: int


@pytest.mark.parametrize("before", [_Slotted(name="a", told=("b",)), _Plain("a", 1)])
@pytest.mark.parametrize("changes", [{}, {"name": "z"}, {"name": "z", "count": 7}])
def test_a_value_is_replaced_as_the_library_does(before: _Slotted | _Plain, changes: dict[str, object]) -> None:
    kept = dataclasses.replace(before)
    after = replace(before, **changes)  # type: ignore[arg-type]

    assert after == dataclasses.replace(before, **changes)  # type: ignore[arg-type]
    assert after is not before
    assert before == kept
    with pytest.raises(FrozenInstanceError):
        after.count = 8  # type: ignore[misc]


def test_a_field_that_there_is_not_is_an_error() -> None:
    with pytest.raises(AttributeError):
        replace(_Slotted(name="a"), color="red")  # type: ignore[call-arg]
