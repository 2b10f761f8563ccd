"""Disputes about a claim: the stations of a case, and what each event does to it. (Market ruling a.7)"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from earnest.contracts.spec import Acceptance
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.claims.lifecycle import refusal
from earnest.market.settlement import Stake
from earnest.market.terms import CurrencyTerms, Terms

STATEMENTS_MAX: Final = 3
"""A side's."""
STATEMENT_CHARACTERS_MAX: Final = 5_000
EVIDENCE_MAX: Final = 10
"""Items of one statement."""
STAKE_RETRY_MS: Final = 60_000
ANSWER_MS: Final = 86_400_000
"""Whoever is spoken to has at least this long to answer."""
BPS: Final = 10_000


class DisputeState(StrEnum):
    """The states of market ruling a.7."""

    STAKE_PENDING = "stake_pending"
    OPEN = "open"
    EVIDENCE = "evidence"
    DELIBERATION = "deliberation"
    RULED = "ruled"
    APPEAL = "appeal"
    FINAL = "final"
    WITHDRAWN = "withdrawn"
    VOID = "void"


class DisputeEvent(StrEnum):
    """What can happen to a case."""

    STAKE_HELD = "stake_held"
    STAKE_MISSED = "stake_missed"
    SAY = "say"
    ANSWER = "answer"
    EVIDENCE_ENDED = "evidence_ended"
    WITHDRAW = "withdraw"
    RULE = "rule"
    APPEAL = "appeal"
    APPEAL_ENDED = "appeal_ended"
    LIMIT = "limit"


CLOSED: Final = frozenset({DisputeState.FINAL, DisputeState.WITHDRAWN, DisputeState.VOID})
_S, _E = DisputeState, DisputeEvent
TRANSITIONS: Final[Mapping[tuple[DisputeState, DisputeEvent], DisputeState]] = {
    (_S.STAKE_PENDING, _E.STAKE_HELD): _S.OPEN,
    (_S.STAKE_PENDING, _E.STAKE_MISSED): _S.VOID,
    (_S.STAKE_PENDING, _E.WITHDRAW): _S.WITHDRAWN,
    (_S.OPEN, _E.SAY): _S.OPEN,
    (_S.OPEN, _E.ANSWER): _S.EVIDENCE,
    (_S.OPEN, _E.EVIDENCE_ENDED): _S.DELIBERATION,
    (_S.OPEN, _E.WITHDRAW): _S.WITHDRAWN,
    (_S.OPEN, _E.LIMIT): _S.FINAL,
    (_S.EVIDENCE, _E.SAY): _S.EVIDENCE,
    (_S.EVIDENCE, _E.ANSWER): _S.EVIDENCE,
    (_S.EVIDENCE, _E.EVIDENCE_ENDED): _S.DELIBERATION,
    (_S.EVIDENCE, _E.WITHDRAW): _S.WITHDRAWN,
    (_S.EVIDENCE, _E.LIMIT): _S.FINAL,
    (_S.DELIBERATION, _E.RULE): _S.RULED,
    (_S.DELIBERATION, _E.LIMIT): _S.FINAL,
    (_S.RULED, _E.APPEAL): _S.APPEAL,
    (_S.RULED, _E.APPEAL_ENDED): _S.FINAL,
    (_S.APPEAL, _E.RULE): _S.FINAL,
    (_S.APPEAL, _E.LIMIT): _S.FINAL,
}
"""All that is allowed. `say` is the raiser's, `answer` the respondent's; from `appeal` the limit keeps the ruling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """One case about `revision` of a claim. `awaiting` is `raiser`, `respondent`, `arbiter` or empty.

    `*_unread` count what a side has not yet read. Whoever is awaited has until `respond_by_ms`. `ruling` (JSON): see
    `ruling.py`. `hard_limit_ms`: when the last machine verdict decides. `wake_ms`: when the clock looks at it next.
    """

    id: str
    claim_id: str
    revision: int
    raiser: str
    respondent: str
    state: DisputeState
    currency: str
    amount_micro: int
    stake_micro: int
    reason: str
    criteria: str
    opened_at_ms: int
    stake_by_ms: int
    hard_limit_ms: int
    stake_tried_at_ms: int | None = None
    respond_by_ms: int | None = None
    awaiting: Literal["", "raiser", "respondent", "arbiter"] = ""
    raiser_unread: int = 0
    respondent_unread: int = 0
    raiser_statements: int = 0
    respondent_statements: int = 0
    last_message_at_ms: int | None = None
    ruling: str = ""
    ruled_at_ms: int | None = None
    appeal_ends_at_ms: int | None = None
    appealed_by: str | None = None
    closed_at_ms: int | None = None
    wake_ms: int | None = None

    def role_of(self, account_id: str) -> Literal["", "raiser", "respondent"]:
        """Which side somebody is of; empty for whoever is no party."""
        if account_id == self.respondent:
            return "respondent"
        return "raiser" if account_id == self.raiser else ""

    @property
    def stakes(self) -> tuple[Stake, ...]:
        """What is or was laid down: the raiser's stake, and twice as much by whoever appealed."""
        rounds = ((1, self.raiser, self.stake_micro), (2, self.appealed_by, 2 * self.stake_micro))
        return tuple(
            Stake(dispute_id=self.id, round=number, party=party, currency=self.currency, amount_micro=amount)
            for number, party, amount in rounds
            if party is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One message of a case. `evidence` is a JSON list of artifact digests, whose bytes are kept as they were."""

    id: str
    dispute_id: str
    number: int
    author: str
    text: str
    evidence: str
    said_at_ms: int


def allowed_events(state: DisputeState) -> list[str]:
    """What can happen to a case in this state."""
    return sorted(event.value for at, event in TRANSITIONS if at is state)


def step(dispute: Dispute, event: DisputeEvent) -> DisputeState:
    """The state after `event`. Raises `Refused("dispute_state")` with `state` and `allowed_events`."""
    after = TRANSITIONS.get((dispute.state, event))
    if after is None:
        message = f"the dispute is {dispute.state}: {event} is not possible"
        allowed = allowed_events(dispute.state)
        raise Refused("dispute_state", message, state=dispute.state.value, allowed_events=allowed)
    return after


def stake_micro(amount_micro: int, terms: CurrencyTerms) -> int:
    """What a case about this amount takes: a share of it, rounded down, within bounds."""
    return max(terms.stake_min_micro, min(amount_micro * terms.stake_bps // BPS, terms.stake_max_micro))


def raised(
    claim: Claim, raiser: str, now_ms: int, terms: Terms, *, dispute_id: str, reason: str, criteria: str
) -> Dispute:
    """A case whose stake is not laid down yet. `criteria`: JSON list of the criterion ids that it is about.

    Whether the claim can be disputed at all is its own matter (`contest.dispute_confirmed`). Where a machine decides,
    it is heard first. Raises `Refused`: `claim_state`, `below_dispute_floor`.
    """
    if claim.acceptance == Acceptance.MACHINE and claim.state is ClaimState.SUBMITTED and not claim.verdict:
        raise refusal(claim.state, "the machine has not judged this work yet")
    currency = terms.currencies[claim.currency]
    if claim.amount_micro < currency.dispute_floor_micro:
        raise Refused("below_dispute_floor", f"cases start at {currency.dispute_floor_micro} micro {claim.currency}")
    return with_wake(
        Dispute(
            id=dispute_id,
            claim_id=claim.id,
            revision=claim.revision,
            raiser=raiser,
            respondent=claim.buyer if raiser == claim.seller else claim.seller,
            state=DisputeState.STAKE_PENDING,
            currency=claim.currency,
            amount_micro=claim.amount_micro,
            stake_micro=stake_micro(claim.amount_micro, currency),
            reason=reason,
            criteria=criteria,
            opened_at_ms=now_ms,
            stake_by_ms=now_ms + terms.dispute_stake_s * SECOND_MS,
            hard_limit_ms=now_ms + terms.dispute_limit_s * SECOND_MS,
            awaiting="raiser",
            respond_by_ms=now_ms + terms.dispute_stake_s * SECOND_MS,
        )
    )


def stake_tried(dispute: Dispute, now_ms: int) -> Dispute:
    """The raiser could not pay yet."""
    return with_wake(replace(dispute, stake_tried_at_ms=now_ms))


def stake_held(dispute: Dispute, now_ms: int, terms: Terms) -> Dispute:
    """The stake lies there: the case is open, and the respondent hears of it."""
    return _moved(
        dispute,
        DisputeEvent.STAKE_HELD,
        hard_limit_ms=now_ms + terms.dispute_limit_s * SECOND_MS,
        respond_by_ms=now_ms + terms.dispute_respond_s * SECOND_MS,
        awaiting="respondent",
        respondent_unread=1,
        last_message_at_ms=now_ms,
    )


def stake_missed(dispute: Dispute, now_ms: int) -> Dispute:
    """No stake came in time, or the claim went on without the case."""
    return _closed(dispute, DisputeEvent.STAKE_MISSED, now_ms)


def spoken(dispute: Dispute, author: str, now_ms: int) -> Dispute:
    """After a statement: the other side is awaited, for a day at least, unless it has said all that it may.

    Raises `Refused`: `dispute_state`, `limit_reached`.
    """
    is_raiser = author == dispute.raiser
    state = step(dispute, DisputeEvent.SAY if is_raiser else DisputeEvent.ANSWER)
    raiser_said = dispute.raiser_statements + is_raiser
    respondent_said = dispute.respondent_statements + (not is_raiser)
    if max(raiser_said, respondent_said) > STATEMENTS_MAX:
        raise Refused("limit_reached", f"each side has {STATEMENTS_MAX} statements")
    other: Literal["raiser", "respondent"] = "respondent" if is_raiser else "raiser"
    respond_by_ms = max(dispute.respond_by_ms or 0, now_ms + ANSWER_MS)
    said = replace(
        dispute,
        state=state,
        raiser_statements=raiser_said,
        respondent_statements=respondent_said,
        raiser_unread=dispute.raiser_unread + (not is_raiser),
        respondent_unread=dispute.respondent_unread + is_raiser,
        last_message_at_ms=now_ms,
        respond_by_ms=min(respond_by_ms, dispute.hard_limit_ms),
        awaiting=other if (respondent_said if is_raiser else raiser_said) < STATEMENTS_MAX else "",
    )
    if raiser_said == respondent_said == STATEMENTS_MAX:
        return evidence_ended(said)
    return with_wake(said)


def evidence_ended(dispute: Dispute) -> Dispute:
    """Nobody has more to say, or had the time to: the case is decided on the record."""
    return _moved(dispute, DisputeEvent.EVIDENCE_ENDED, awaiting="arbiter", respond_by_ms=None)


def withdrawn(dispute: Dispute, account_id: str, now_ms: int) -> Dispute:
    """The raiser takes the case back before it is deliberated. Raises `Refused`: `not_a_party`, `dispute_state`."""
    if account_id != dispute.raiser:
        raise Refused("not_a_party", "only who raised a dispute withdraws it")
    return _closed(dispute, DisputeEvent.WITHDRAW, now_ms)


def read_by(dispute: Dispute, account_id: str) -> Dispute:
    """The same with nothing unread for this side."""
    match dispute.role_of(account_id):
        case "raiser":
            return replace(dispute, raiser_unread=0)
        case "respondent":
            return replace(dispute, respondent_unread=0)
        case _:
            return dispute


def with_wake(dispute: Dispute) -> Dispute:
    """`wake_ms` as it must be for what the case is."""
    return replace(dispute, wake_ms=_wake_ms(dispute))


def _wake_ms(dispute: Dispute) -> int | None:
    match dispute.state:
        case DisputeState.STAKE_PENDING:
            tried_at_ms = dispute.opened_at_ms if dispute.stake_tried_at_ms is None else dispute.stake_tried_at_ms
            return min(tried_at_ms + STAKE_RETRY_MS, dispute.stake_by_ms)
        case DisputeState.OPEN | DisputeState.EVIDENCE:
            return min(dispute.respond_by_ms or dispute.hard_limit_ms, dispute.hard_limit_ms)
        case DisputeState.DELIBERATION | DisputeState.APPEAL:
            return dispute.hard_limit_ms
        case DisputeState.RULED:
            return dispute.appeal_ends_at_ms
        case DisputeState.FINAL | DisputeState.WITHDRAWN | DisputeState.VOID:
            return None


def _moved(dispute: Dispute, event: DisputeEvent, **changes: int | str | None) -> Dispute:
    return with_wake(replace(dispute, state=step(dispute, event), **changes))  # type: ignore[arg-type]


def _closed(dispute: Dispute, event: DisputeEvent, now_ms: int) -> Dispute:
    unread = dispute.respondent_unread + (dispute.state is not DisputeState.STAKE_PENDING)
    return _moved(dispute, event, awaiting="", respond_by_ms=None, closed_at_ms=now_ms, respondent_unread=unread)
