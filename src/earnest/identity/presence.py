"""When somebody was last there, and what they did."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Of one account. `expected_s`: how long a gap between two looks was to be when it last looked.

    `last_action`: the last thing done with a heartbeat key. `*_told_at_ms`: the owner was told of this episode of
    silence, of disputes; None once it has ended. `outbox` (JSON): mails to the owner that are not sent yet, each
    {episode, at_ms, subject, text}; `outbox_at_ms`: when to try. `wake_ms`: when the clock looks at it next.
    """

    account_id: str
    seen_at_ms: int
    expected_s: int = 1_800
    last_action: str = ""
    last_action_at_ms: int | None = None
    silence_told_at_ms: int | None = None
    disputes_told_at_ms: int | None = None
    outbox: str = "[]"
    outbox_tries: int = 0
    outbox_at_ms: int | None = None
    wake_ms: int | None = None
