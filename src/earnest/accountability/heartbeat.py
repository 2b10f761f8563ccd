"""One check-in of an agent, and its outcome."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TOKEN: Final = "HEARTBEAT_OK"  # noqa: S105 - a word
FURTHER_CHARACTERS_MAX: Final = 300


def is_acknowledgement(reply: str) -> bool:
    """True for `HEARTBEAT_OK` at the start or the end, with at most 300 further characters."""
    text = reply.strip()
    if not (text.startswith(TOKEN) or text.endswith(TOKEN)):
        return False
    return len(text) - len(TOKEN) <= FURTHER_CHARACTERS_MAX


class CheckInState(StrEnum):
    """A heartbeat waits for the sidecar, then it is judged."""

    VERIFYING = "verifying"
    JUDGED = "judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """One cycle. `id` is `hbt_…`; `date` is the day that it counts for, in `zone`: the one that it started on.

    In JSON: `asked` the tasks (`AskedTask`), `records` what the agent's tools did, by its own account, `artifacts` what
    it handed in ({path, sha256}), `claims` what it asserts ({task, done, values}), `verdicts` one for each task,
    `outcome` what it was answered. `waiting`: tasks whose verdict the operator has to give.
    """

    id: str
    account_id: str
    at_ms: int
    date: str
    zone: str
    state: CheckInState
    contract_digest: str
    asked: str
    reply: str = ""
    records: str = "[]"
    artifacts: str = "[]"
    claims: str = "[]"
    verdicts: str = "[]"
    outcome: str = "{}"
    points: int = 0
    waiting: int = 0
    judged_at_ms: int | None = None
    by_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageVote:
    """What an operator thinks of one message. `id` is `<message>/<operator>`; `up` is 1 or 0."""

    id: str
    message_id: str
    operator_id: str
    account_id: str
    up: bool
    at_ms: int


def vote_id(message_id: str, operator_id: str) -> str:
    """The id of one operator's vote on one message."""
    return f"{message_id}/{operator_id}"
