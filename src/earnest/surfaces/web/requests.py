"""What bodies of several resources have in common: a strict form, and the words that they are made of."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from earnest.foundation.errors import Refused

Sha256 = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Instant = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


class Strict(BaseModel):
    """Unknown members are refused; nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


def instant_ms(text: str | None, name: str) -> int | None:
    """Milliseconds since the epoch. Raises `Refused("validation")` for a day that is none."""
    if text is None:
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000
    except (ValueError, OverflowError):
        raise Refused("validation", f"{name} is no instant: {text}") from None
