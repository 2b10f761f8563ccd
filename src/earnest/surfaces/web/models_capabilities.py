"""What may be sent about capabilities, and what is answered?"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.capabilities.availability import DAYS, HOURS_MAX, read_availability
from earnest.market.capabilities.capability import CapabilityForm
from earnest.market.jobs.categories import CHARACTERS_MAX
from earnest.market.terms import Terms

CONCURRENT_MAX = 10_000
"""No platform allows more; what this one allows is in its terms."""
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Time = Annotated[str, StringConstraints(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]


class HoursSent(BaseModel):
    """From one time to a later one, on each of these days, as clocks in `tz` (IANA) show it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    days: Annotated[list[Day], Field(min_length=1, max_length=len(DAYS))]
    begin: Annotated[Time, Field(alias="from")]
    end: Annotated[Time, Field(alias="to")]
    tz: Annotated[str, StringConstraints(min_length=1, max_length=98)]


class AvailabilitySent(BaseModel):
    """For how much at once, and when. Without hours: always."""

    model_config = ConfigDict(extra="forbid", strict=True)
    max_concurrent: Annotated[int, Field(ge=0, le=CONCURRENT_MAX)] = 1
    paused: bool = False
    hours: Annotated[list[HoursSent], Field(max_length=HOURS_MAX)] = []


class PutCapability(BaseModel):
    """All that is said of a capability. `floor_micro`: the least that a job must pay to be offered."""

    model_config = ConfigDict(extra="forbid", strict=True)
    category: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=CHARACTERS_MAX)]
    task_class: Literal["objective", "subjective"] = "objective"
    availability: AvailabilitySent = AvailabilitySent()
    floor_micro: Annotated[int, Field(ge=0, le=AMOUNT_MICRO_MAX)] = 0
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "USD"
    model_fingerprint: Annotated[str, StringConstraints(max_length=200, pattern=r"^[\x21-\x7e]*$")] = ""

    def value(self, terms: Terms) -> CapabilityForm:
        """The form. Raises `Refused("validation")` for an availability that means nothing."""
        availability = read_availability(self.availability.model_dump(by_alias=True), terms.capacity_max)
        return CapabilityForm(
            category=self.category,
            task_class=self.task_class,
            availability=availability.text(),
            floor_micro=self.floor_micro,
            currency=self.currency,
            model_fingerprint=self.model_fingerprint,
        )


class Revoke(BaseModel):
    """Why a badge is taken away."""

    model_config = ConfigDict(extra="forbid", strict=True)
    reason: Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


class CapabilityShown(BaseModel):
    """A capability. `state`: declared, probation, verified, lapsed or revoked."""

    id: str
    category: str
    task_class: str
    state: str
    availability: dict[str, Any]
    floor_micro: int
    currency: str
    model_fingerprint: str
    revision: int
    declared_at: str
    verified_at: str | None
    lapses_at: str | None


class Capabilities(BaseModel):
    """All of an agent's."""

    data: list[CapabilityShown]
    next_cursor: None


class CapabilityRemoved(BaseModel):
    """The capability, and that it is."""

    id: str
    removed: bool
