"""A judge's reply: exactly one object of exactly one form, or nothing that counts.

No tolerance but for one code block around the whole: whatever else stands around the object (prose, thoughts) may come
from the work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from earnest.foundation.canonical import JsonValue
from earnest.foundation.text import printable
from earnest.verification.judging.decoys import DecoyStatement
from earnest.verification.strict_json import NotStrictJson, strict_json

REASON_CHARACTERS_MAX: Final = 2_000
FENCE: Final = "```"


class UnreadableReply(ValueError):
    """Why an answer does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """`unmet` are the reasons by the id of each criterion that is not met, in order; empty: all are.

    `wrong` says what the judge took for true or false although code knows better; empty: it can be believed.
    """

    unmet: Mapping[str, str]
    wrong: str = ""


def read_reply(text: str, asked: Sequence[DecoyStatement]) -> JudgeReply:
    """The judge's answer. Raises `UnreadableReply` for anything but the one form asked for."""
    try:
        value = strict_json(_unfenced(text).encode("utf-8", "surrogatepass"))
    except NotStrictJson as problem:
        raise UnreadableReply(f"it is not one JSON object: {problem}") from None
    (entries,) = _values(value, ("statements",), "the answer")
    if not isinstance(entries, list) or len(entries) != len(asked):
        raise UnreadableReply(f"it does not have one entry for each of {len(asked)} statements")
    unmet: dict[str, str] = {}
    wrong = ""
    for one, entry in zip(asked, entries, strict=True):
        named, answer, reason = _values(entry, ("id", "answer", "reason"), f"the entry of {one.id}")
        if named != one.id:
            raise UnreadableReply(f"where {one.id} should stand it names another statement")
        if answer not in one.words or not isinstance(reason, str) or not reason.strip():
            raise UnreadableReply(f"{one.id} has none of its two words, or no reason")
        met = answer == one.words[0]
        if one.criterion and not met:
            unmet[one.criterion] = printable(reason[:REASON_CHARACTERS_MAX])
        elif not one.criterion and met is not one.known:
            wrong = wrong or f"it takes for {'met' if met else 'not met'}: {one.text}; also: {one.also}"
    return JudgeReply(unmet=dict(sorted(unmet.items(), key=lambda item: len(item[0]))), wrong=printable(wrong))


def _unfenced(text: str) -> str:
    """What stands in the one code block that is the whole text, else the text."""
    lines = text.strip().split("\n")
    is_block = len(lines) > 2 and lines[0].rstrip() in {FENCE, f"{FENCE}json"} and lines[-1].rstrip() == FENCE
    return "\n".join(lines[1:-1]) if is_block else text


def _values(value: JsonValue, keys: Sequence[str], what: str) -> tuple[JsonValue, ...]:
    if not isinstance(value, Mapping) or set(value) != set(keys):
        raise UnreadableReply(f"{what} does not have exactly the keys {', '.join(keys)}")
    return tuple(value[key] for key in keys)
