"""What is a person asked before something is done that cannot be taken back (Law 1), and what was said?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationAsked:
    """An action that needs leave. `action` is its digest: tool, version, canonical arguments, paths, network.

    `wording` is for people, already printable; nothing is decided by it. `paths` are absolute.
    """

    action: str
    tool: str
    wording: str
    paths: tuple[str, ...]
    network: bool
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationAnswered:
    """Yes or no to exactly this action, once. `by` says who: the person asked, or the option that named it."""

    action: str
    approved: bool
    by: str
    expires_at_ms: int
