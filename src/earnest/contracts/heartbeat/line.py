"""What does one task line say? `- [ ] task_id | Description | required | verify: hint | max_attempts: 3 | every: 6h`"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from earnest.contracts.heartbeat.task import (
    ATTEMPTS,
    ATTEMPTS_MAX,
    EVERY_S_MAX,
    EVERY_S_MIN,
    ID_CHARACTERS_MAX,
    HeartbeatTask,
)

BOX: Final = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)+\[(?P<tick>[ xX])\](?=[ \t]|$)")
"""What a task begins with: the marks of its list item, or of several within each other, and a box."""
OBLIGATIONS: Final = ("required", "optional")
KEYS: Final = ("verify", "max_attempts", "every")
FIELDS_MAX: Final = 10
SECONDS: Final = {"m": 60, "min": 60, "h": 3_600, "d": 86_400}
_EVERY: Final = re.compile(r"([0-9]{1,6})[ \t]*(m|min|h|d)", re.ASCII | re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TICKS: Final = re.compile(r"(?<!\\)`+")
_PIPE: Final = re.compile(r"(?<!\\)\|")
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks by their category that no reader sees, so that no id could be told from its neighbour by them."""
_PLAIN_SLUG: Final = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")
_BLANKS: Final = re.compile(r"_{2,}")

Note: TypeAlias = Callable[[str], None]
"""Takes what is wrong with the line, in words."""


class Part(NamedTuple):
    """What stands between two `|`, without blanks around it and with `\\|` as `|`; where, in the whole line."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A task line taken apart. `fields` are those after the description, known or not."""

    is_ticked: bool
    tick_at: int
    id: Part | None
    description: Part
    fields: Sequence[Part]
    is_structured: bool


def parts_of(line: str) -> Parts | None:
    """The parts of a line that begins with a box; None if it does not, or if nothing follows."""
    box = BOX.match(line)
    if box is None:
        return None
    first, *rest = _split(line, box.end())
    if not first.text and not any(part.text for part in rest):
        return None
    has_id = bool(rest) and bool(rest[0].text) and field_of(rest[0].text) is None
    return Parts(
        is_ticked=box["tick"] != " ",
        tick_at=box.start("tick"),
        id=first if has_id else None,
        description=rest[0] if has_id else first,
        fields=[part for part in (rest[1:] if has_id else rest) if part.text],
        is_structured=bool(rest),
    )


def task_of(parts: Parts, number: int, note: Note) -> HeartbeatTask:
    """The task in these parts, at this line of its file; its id is not yet unique."""
    name = parts.id.text if parts.id and parts.id.text else parts.description.text
    found = slug(name)
    if parts.id and parts.id.text and found != name:
        note(f"the id {name[:80]!r} is read as {found!r}")
    if not parts.is_structured:
        return HeartbeatTask(
            id=found,
            description=parts.description.text,
            required=False,
            is_structured=False,
            is_ticked=parts.is_ticked,
            line=number,
        )
    obligations, values = _fields(parts.fields, note)
    return HeartbeatTask(
        id=found,
        description=parts.description.text or name,
        required="optional" not in obligations or "required" in obligations,
        verify=values.get("verify", ""),
        max_attempts=_attempts(values.get("max_attempts"), note),
        every_s=_every(values.get("every"), note),
        is_ticked=parts.is_ticked,
        line=number,
    )


def field_of(text: str) -> tuple[str, str] | None:
    """The name and value of a known field; an obligation has no value. None for any other text."""
    word, colon, value = text.partition(":")
    name = word.rstrip().casefold()
    if name in (KEYS if colon else OBLIGATIONS):
        return name, value.lstrip()
    return None


def slug(text: str) -> str:
    """Lower-case letters of any script, digits, `_` and `-`; up to `ID_CHARACTERS_MAX`. `task` if nothing is left."""
    if len(text) <= ID_CHARACTERS_MAX and _PLAIN_SLUG.fullmatch(text):
        return text
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold())
    words = "".join(one if _is_word(one) else "_" for one in plain)
    return _BLANKS.sub("_", words).strip("_-")[:ID_CHARACTERS_MAX].strip("_-") or "task"


def escaped(text: str) -> str:
    """The text as it stands within a part."""
    return text.replace("|", "\\|")


def every_text(seconds: int) -> str:
    """`6h`: in the largest unit that leaves no rest."""
    unit = next(name for name in ("d", "h", "m") if seconds % SECONDS[name] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def every_s(text: str) -> int | None:
    """The seconds of `6h`, `30m`, `1d`; None for what is no such text, or out of bounds."""
    found = _EVERY.fullmatch(text)
    seconds = int(found[1]) * SECONDS[found[2].lower()] if found else 0
    return seconds if EVERY_S_MIN <= seconds <= EVERY_S_MAX else None


def splits(line: str) -> list[str]:
    """The texts between the `|` of any line."""
    return [part.text for part in _split(line, 0)]


def has_comment(line: str) -> bool:
    """True if part of the line is a comment."""
    return "<!--" in line and _without_comments(line) != line


def _split(line: str, start: int) -> Iterator[Part]:
    shown = _without_comments(line)
    begin = start
    for piece in _PIPE.split(_without_code(shown)[start:]):
        text = shown[begin : begin + len(piece)]
        words = text.strip()
        at = begin + (text.index(words) if words else len(text))
        yield Part(words.replace("\\|", "|"), at, at + len(words))
        begin += len(piece) + 1


def _without_comments(line: str) -> str:
    """The line with blanks in the place of comments; what follows an open one belongs to it."""
    if "<!--" not in line:
        return line
    kept, at = list[str](), 0
    for comment in _COMMENT.finditer(_without_code(line)):
        kept += (line[at : comment.start()], " " * len(comment[0]))
        at = comment.end()
    return "".join(kept) + line[at:]


def _without_code(line: str) -> str:
    """The line with blanks in the place of code."""
    if "`" not in line:
        return line
    kept, at = list[str](), 0
    for start, end in _code(line):
        kept += (line[at:start], " " * (end - start))
        at = end
    return "".join(kept) + line[at:]


def _code(line: str) -> list[tuple[int, int]]:
    """Where code stands: from one run of backticks to the next of the same length."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(line)]
    last = {end - start: at for at, (start, end) in enumerate(runs)}
    found, at = list[tuple[int, int]](), 0
    while at < len(runs):
        length = runs[at][1] - runs[at][0]
        closing = next((to for to in range(at + 1, last[length] + 1) if runs[to][1] - runs[to][0] == length), None)
        if closing is not None:
            found.append((runs[at][0], runs[closing][1]))
            at = closing
        at += 1
    return found


def _fields(parts: Sequence[Part], note: Note) -> tuple[set[str], dict[str, str]]:
    obligations, values = set[str](), dict[str, str]()
    if len(parts) > FIELDS_MAX:
        note(f"a task has at most {FIELDS_MAX} fields; those after them count for nothing")
    for part in parts[:FIELDS_MAX]:
        known = field_of(part.text)
        if known is None:
            note(f"unknown field {part.text[:80]!r}{_meant(part.text)}; it counts for nothing")
        elif known[0] in OBLIGATIONS:
            obligations.add(known[0])
        elif known[0] in values:
            note(f"`{known[0]}` stands twice; the first counts")
        else:
            values[known[0]] = known[1]
    if len(obligations) > 1:
        note("both `required` and `optional`: it is required")
    if values.get("verify") == "":
        note("`verify` without a hint")
    return obligations, values


def _meant(text: str) -> str:
    word = text.partition(":")[0].strip().casefold().replace(" ", "_").replace("-", "_")
    near = difflib.get_close_matches(word[:30], [*OBLIGATIONS, *KEYS], n=1, cutoff=0.7)
    return f"; did you mean `{near[0]}`?" if near else ""


def _attempts(text: str | None, note: Note) -> int:
    if text is None:
        return ATTEMPTS
    if re.fullmatch(r"[0-9]{1,3}", text) and 1 <= int(text) <= ATTEMPTS_MAX:
        return int(text)
    note(f"`max_attempts` must be 1 to {ATTEMPTS_MAX}, not {text[:40]!r}; it is {ATTEMPTS}")
    return ATTEMPTS


def _every(text: str | None, note: Note) -> int | None:
    seconds = None if text is None else every_s(text)
    if text is not None and seconds is None:
        note(f"`every` must be like 30m, 6h or 1d, up to 31d, not {text[:40]!r}; it is due each time")
    return seconds


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "_-" or unicodedata.category(character)[0] == "M"
