"""What a member of a value may be, written beside its type: `Annotated[int, Whole(0, 10)]`.

pydantic reads these where a value comes from outside (`app/tables.py`), and is not loaded here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`, both allowed."""

    low: int
    high: int

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> Any:
        """See pydantic's page on custom types."""
        from pydantic_core import core_schema  # noqa: PLC0415

        return core_schema.int_schema(strict=True, ge=self.low, le=self.high)


@dataclass(frozen=True, slots=True)
class Fitting:
    """What `fits` says yes to, which is `wanted`, in words."""

    fits: Callable[[Any], bool]
    wanted: str

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:
        """See pydantic's page on custom types."""
        from pydantic_core import core_schema  # noqa: PLC0415

        return core_schema.no_info_after_validator_function(self._fitting, handler(source))

    def _fitting(self, value: object) -> object:
        if not self.fits(value):
            raise ValueError(self.wanted)
        return value
