"""Confirmations of what cannot be taken back (Law 1): the question and the answer."""

from dataclasses import dataclass

from earnest.foundation.canonical import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationAsked:
    """An action that needs leave. `action` is its digest: tool, version, canonical arguments, paths, network.

    `args` are those of the tool, exactly. `paths`, absolute and resolved, are what it needs leave to write to beyond
    what was granted, and `network` is whether it needs leave for that. `wording` says all of it to people, already
    printable; nothing is decided by it.
    """

    action: str
    tool: str
    args: JsonObject
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
