"""When was somebody last there, and what did they do?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Of one account. `episode` names what the owner was last told of (`silence`, `disputes`); empty once it ended.

    `wake_ms`: when the clock looks at it next.
    """

    account_id: str
    seen_at_ms: int
    last_action: str = ""
    last_action_at_ms: int | None = None
    silence_told_at_ms: int | None = None
    disputes_told_at_ms: int | None = None
    wake_ms: int | None = None
