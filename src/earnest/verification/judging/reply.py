"""What did a judge answer? Exactly one object of exactly one form, or nothing that counts.

No tolerance on purpose: whatever stands around the object (prose, a code block, thoughts) may come from the work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from earnest.foundation.canonical import JsonValue
from earnest.foundation.text import printable
from earnest.verification.strict_json import NotStrictJson, strict_json

REASON_CHARACTERS_MAX: Final = 2_000
_VERDICTS: Final = {"verified": True, "not_verified": False}


class UnreadableReply(ValueError):
    """Why an answer does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """`unmet` are (id, reason) of the criteria that are not met, in order; empty: all are."""

    unmet: tuple[tuple[str, str], ...]


def read_reply(text: str, ids: Sequence[str]) -> JudgeReply:
    """The judge's answer on the criteria `ids`. Raises `UnreadableReply` for anything but the one form asked for."""
    try:
        value = strict_json(text.encode("utf-8", "surrogatepass"))
    except NotStrictJson as problem:
        raise UnreadableReply(f"it is not one JSON object: {problem}") from None
    verdict, entries = _values(value, ("verdict", "criteria"), "the answer")
    if not isinstance(entries, list) or len(entries) != len(ids):
        raise UnreadableReply(f"it does not have one entry for each of {len(ids)} criteria")
    unmet = []
    for identity, entry in zip(ids, entries, strict=True):
        named, met, reason = _values(entry, ("id", "met", "reason"), f"the entry of {identity}")
        if named != identity:
            raise UnreadableReply(f"where {identity} should stand it names another criterion")
        if not isinstance(met, bool) or not isinstance(reason, str) or not reason.strip():
            raise UnreadableReply(f"{identity} has no true or false, or no reason")
        if not met:
            unmet.append((identity, printable(reason[:REASON_CHARACTERS_MAX])))
    if not isinstance(verdict, str) or verdict not in _VERDICTS:
        raise UnreadableReply("its verdict is neither verified nor not_verified")
    if _VERDICTS[verdict] is bool(unmet):
        raise UnreadableReply("its verdict is not what its criteria come to")
    return JudgeReply(unmet=tuple(unmet))


def _values(value: JsonValue, keys: Sequence[str], what: str) -> tuple[JsonValue, ...]:
    if not isinstance(value, Mapping) or set(value) != set(keys):
        raise UnreadableReply(f"{what} does not have exactly the keys {', '.join(keys)}")
    return tuple(value[key] for key in keys)
