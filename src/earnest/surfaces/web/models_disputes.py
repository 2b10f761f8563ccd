"""What may be sent about disputes, and what is answered?"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from earnest.contracts.criterion import CRITERIA_MAX
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.disputes.dispute import EVIDENCE_MAX, STATEMENT_CHARACTERS_MAX, DisputeState
from earnest.market.disputes.ruling import REASON_CHARACTERS_MAX, For, Vote
from earnest.runtime.market.disputing import Plea
from earnest.surfaces.web.models_jobs import Id, Sha256, Strict

Amount = Annotated[int, Field(ge=0, le=AMOUNT_MICRO_MAX)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=STATEMENT_CHARACTERS_MAX)]
Side = Literal["raiser", "respondent"]


class RaiseDispute(Strict):
    """What is wrong, and about which criteria. `stake_micro`: what you expect to lay down; it is computed here."""

    reason: Text
    criteria: list[Id] = Field(default_factory=list, max_length=CRITERIA_MAX)
    stake_micro: Amount | None = None

    def value(self) -> Plea:
        """The plea."""
        return Plea(reason=self.reason, criteria=tuple(self.criteria), stake_micro=self.stake_micro)


class Say(Strict):
    """A statement. `evidence`: digests of artifacts of yours, or of what was handed in for the claim."""

    text: Text
    evidence: list[Sha256] = Field(default_factory=list, max_length=EVIDENCE_MAX)


class CastVote(Strict):
    """A ruling. A split names both amounts, which add up to what is held; otherwise they go without saying."""

    in_favour: Annotated[For, Field(strict=False, alias="for")]
    seller_micro: Amount | None = None
    buyer_micro: Amount | None = None
    criteria: Annotated[list[Id], Field(max_length=CRITERIA_MAX)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=REASON_CHARACTERS_MAX)]

    def value(self) -> Vote:
        """The vote."""
        return Vote(
            in_favour=self.in_favour,
            criteria=tuple(self.criteria),
            reason=self.reason,
            seller_micro=self.seller_micro,
            buyer_micro=self.buyer_micro,
        )


class DisputeMoved(BaseModel):
    """A dispute, and the state that it is in now."""

    dispute_id: str
    claim_id: str
    state: DisputeState
    stake_micro: int
    currency: str
    awaiting: Literal["raiser", "respondent", "arbiter"] | None
    closed: bool


class DisputeSaid(DisputeMoved):
    """`statement` is its number in the case."""

    statement: int


class StatementsLeft(BaseModel):
    """How many more statements each side has."""

    raiser: int
    respondent: int


class DisputeSummary(BaseModel):
    """A case. `role` is mine; `respond_by` is the time of whoever is awaited."""

    dispute_id: str
    claim_id: str
    revision: int
    state: DisputeState
    allowed_events: list[str]
    raiser: str
    respondent: str
    role: Side | None
    currency: str
    amount_micro: int
    stake_micro: int
    awaiting: Literal["raiser", "respondent", "arbiter"] | None
    unread: int
    statements_left: StatementsLeft
    opened_at: str
    stake_by: str
    respond_by: str | None
    decided_at_latest: str
    last_message_at: str | None
    ruled_at: str | None
    appeal_ends_at: str | None
    appealed_by: str | None
    closed_at: str | None


class StatementShown(BaseModel):
    """What a side has said."""

    number: int
    role: Side
    text: str
    evidence: list[str]
    said_at: str


class RulingShown(BaseModel):
    """Who gets what. `by`: the arbiter, or `clock`. `round` 2 is that of an appeal."""

    in_favour: Annotated[For, Field(alias="for")]
    seller_micro: int
    buyer_micro: int
    criteria: list[str]
    reason: str
    by: str
    round: int


class DisputeShown(DisputeSummary):
    """A case with all that was said in it."""

    seller: str | None
    last_verdict: str | None
    reason: str
    criteria: list[str]
    statements: list[StatementShown]
    ruling: RulingShown | None


class Disputes(BaseModel):
    """A page of cases."""

    data: list[DisputeSummary]
    next_cursor: str | None
