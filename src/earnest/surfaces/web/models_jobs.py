"""What may be sent about jobs and claims?"""

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from earnest.contracts.criterion import CRITERIA_MAX
from earnest.contracts.spec import TEXT_CHARACTERS_MAX, TITLE_CHARACTERS_MAX, Acceptance
from earnest.foundation.errors import Refused
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.jobs.job import TaskClass
from earnest.market.jobs.offer import ITEM_BYTES_MAX, REQUIREMENTS_MAX, Offer, Requirement
from earnest.market.terms import DAY_S
from earnest.runtime.market.submitting import Item
from earnest.verification.strict_json import NotStrictJson, check_depth

INLINE_BYTES_MAX = 100 * 1024
INLINE_DEPTH_MAX = 8
CITED_MAX = CRITERIA_MAX

Sha256 = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Instant = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


class Strict(BaseModel):
    """Unknown members are refused; nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EvidenceRequirement(Strict):
    """One thing to hand in. Without `path` it lies under its id."""

    id: Id
    kind: str
    description: Annotated[str, StringConstraints(max_length=2_000)] = ""
    path: Annotated[str, StringConstraints(max_length=512)] = ""
    required: bool = True
    accept_media: Annotated[list[str], Field(max_length=20)] = []
    max_bytes: Annotated[int, Field(ge=1, le=ITEM_BYTES_MAX)] = ITEM_BYTES_MAX
    verifier: str = ""

    def value(self) -> Requirement:
        """The requirement."""
        return Requirement(
            id=self.id,
            kind=self.kind,
            description=self.description,
            path=self.path or self.id,
            required=self.required,
            accept_media=tuple(self.accept_media),
            max_bytes=self.max_bytes,
            verifier=self.verifier,
        )


class JobFile(Strict):
    """A file that a check names: an artifact of the creator, never shown to the seller."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    sha256: Sha256


class PostJob(Strict):
    """A job. `criteria` are as in a spec (`earnest verify`): id, text, required, check."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=TITLE_CHARACTERS_MAX)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=TEXT_CHARACTERS_MAX)]
    category: Slug
    task_class: Annotated[TaskClass, Field(strict=False)] = TaskClass.OBJECTIVE
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    amount_micro: Annotated[int, Field(ge=0, le=AMOUNT_MICRO_MAX)]
    acceptance: Annotated[Acceptance | None, Field(strict=False)] = None
    criteria: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=CRITERIA_MAX)]
    evidence_requirements: Annotated[list[EvidenceRequirement], Field(min_length=1, max_length=REQUIREMENTS_MAX)]
    files: Annotated[list[JobFile], Field(max_length=50)] = []
    work_s: Annotated[int, Field(ge=60, le=90 * DAY_S)] = DAY_S
    closes_at: Instant | None = None
    deadline_at: Instant | None = None
    apply_window_s: Annotated[int, Field(ge=0, le=14 * DAY_S)] = 0
    grace_s: Annotated[int | None, Field(ge=0, le=7 * DAY_S)] = None
    auto_extend: bool = False
    auto_release_s: Annotated[int | None, Field(ge=DAY_S, le=14 * DAY_S)] = None
    revise_s: Annotated[int | None, Field(ge=60, le=14 * DAY_S)] = None
    max_revisions: Annotated[int | None, Field(ge=0, le=10)] = None
    redo_of: str | None = None

    def value(self) -> Offer:
        """The offer. Raises `Refused("validation")` for an instant that is none."""
        return Offer(
            title=self.title,
            text=self.text,
            category=self.category,
            task_class=self.task_class,
            currency=self.currency,
            amount_micro=self.amount_micro,
            acceptance=self.acceptance,
            criteria=tuple(self.criteria),
            requirements=tuple(one.value() for one in self.evidence_requirements),
            files={one.path: one.sha256 for one in self.files},
            work_s=self.work_s,
            closes_at_ms=instant_ms(self.closes_at, "closes_at"),
            deadline_at_ms=instant_ms(self.deadline_at, "deadline_at"),
            apply_window_s=self.apply_window_s,
            grace_s=self.grace_s,
            auto_extend=self.auto_extend,
            auto_release_s=self.auto_release_s,
            revise_s=self.revise_s,
            revisions_max=self.max_revisions,
            redo_of=self.redo_of,
        )


class EvidenceItem(Strict):
    """One thing that is handed in: by `sha256` (an artifact of yours), `inline`, or a `storage_url` fetched once."""

    requirement_id: Id
    kind: str
    media_type: Annotated[str, StringConstraints(pattern=r"^[\w.+-]{1,64}/[\w.+-]{1,64}$")] = "application/octet-stream"
    sha256: Sha256 | None = None
    inline: Any = None
    storage_url: Annotated[str, StringConstraints(max_length=2_048)] = ""
    produced_at: Instant | None = None
    note: Annotated[str, StringConstraints(max_length=1_000)] = ""

    def value(self) -> Item:
        """The item. Raises `Refused`: `validation`, `too_large`."""
        given = (self.inline is not None) + bool(self.storage_url)
        if given > 1 or (given == 0 and self.sha256 is None):
            raise Refused("validation", f"{self.requirement_id}: give sha256, inline or storage_url")
        return Item(
            requirement_id=self.requirement_id,
            kind=self.kind,
            media_type=self.media_type,
            sha256=self.sha256 or "",
            inline=_inline(self.inline) if self.inline is not None else None,
            storage_url=self.storage_url,
            produced_at=self.produced_at or "",
            note=self.note,
        )


class SubmitEvidence(Strict):
    """All that is handed in for one revision."""

    items: Annotated[list[EvidenceItem], Field(min_length=1, max_length=REQUIREMENTS_MAX)]

    def only_inline(self) -> Any:
        """What the one item holds. Raises `Refused("validation")` for more, and for none."""
        if len(self.items) != 1 or self.items[0].inline is None:
            raise Refused("validation", "a test job is answered by one item, inline")
        return self.items[0].inline


class Apply(Strict):
    """Why it should be me."""

    note: Annotated[str, StringConstraints(max_length=2_000)] = ""


class Extend(Strict):
    """How much longer, from the deadline on."""

    extra_s: Annotated[int, Field(ge=1, le=90 * DAY_S)]


class AnswerExtension(Strict):
    """The buyer's answer."""

    granted: bool


class Judge(Strict):
    """Why, and which criteria are meant."""

    reason: Reason
    criteria: Annotated[list[Id], Field(min_length=1, max_length=CITED_MAX)]


class Decide(Strict):
    """A decision on submitted work. `penalty` is taken and not looked at: the platform computes it."""

    approved: bool
    reason: Reason
    penalty: int | float | None = None
    criteria: Annotated[list[Id], Field(max_length=CITED_MAX)] = []


def instant_ms(text: str | None, name: str) -> int | None:
    """Milliseconds since the epoch. Raises `Refused("validation")` for a day that is none."""
    if text is None:
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000
    except (ValueError, OverflowError):
        raise Refused("validation", f"{name} is no instant: {text}") from None


def _inline(value: Any) -> bytes:
    """Text as it is, anything else as JSON."""
    try:
        check_depth(value, INLINE_DEPTH_MAX)
    except NotStrictJson as error:
        raise Refused("validation", f"inline: {error}") from None
    data = value.encode() if isinstance(value, str) else json.dumps(value, ensure_ascii=False).encode()
    if len(data) > INLINE_BYTES_MAX:
        raise Refused("too_large", f"inline evidence has at most {INLINE_BYTES_MAX} bytes; upload an artifact instead")
    return data
