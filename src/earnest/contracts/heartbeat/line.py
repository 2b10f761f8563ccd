"""One task line: `- [ ] task_id | Description | required | verify: hint | max_attempts: 3 | every: 6h`."""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
_NUMBER: Final = re.compile(r"[0-9]{1,3}")
_EVERY: Final = re.compile(r"([0-9]{1,6})[ \t]*(m|min|h|d)", re.ASCII | re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TICKS: Final = re.compile(r"(?<!\\)`+")
FULL_WIDTH_BAR: Final = "\uff5c"
_PIPE: Final = re.compile(rf"(?<!\\)[|{FULL_WIDTH_BAR}]")
_BAR: Final = re.compile(rf"[|{FULL_WIDTH_BAR}]")
_ESCAPED: Final = re.compile(rf"\\([|{FULL_WIDTH_BAR}])")
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks by their category that no reader sees, so that no id could be told from its neighbour by them."""
_PLAIN_SLUG: Final = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")
_BLANKS: Final = re.compile(r"_{2,}")
_SLUG_OF_MAX: Final = 4 * ID_CHARACTERS_MAX
"""So much of a text can make a slug: a character may stand for eighteen, and marks are put in order one by one."""

Note: TypeAlias = Callable[[str, int], None]
"""Takes what is wrong with the line, in words, and where in it."""


class LinePart(NamedTuple):
    """What stands between two `|`, without blanks around it and with `\\|` as `|`; where, in the whole line."""

    text: str
    start: int


class LineParts(NamedTuple):
    """A task line taken apart. `fields` are those after the description, known or not, up to `FIELDS_MAX`; what is
    behind them is `unread`.
    """

    is_ticked: bool
    tick_at: int
    id: LinePart | None
    description: LinePart
    fields: Sequence[LinePart]
    unread: LinePart | None
    is_structured: bool


def parts_of(line: str) -> LineParts | None:
    """The parts of a line that begins with a box; None if it does not, or if neither id nor description follows."""
    box = BOX.match(line)
    if box is None:
        return None
    first, *rest = _split(line, box.end())
    has_id = bool(rest) and bool(rest[0].text) and field_of(rest[0].text) is None
    if not first.text and not has_id:
        return None
    fields = rest[1:] if has_id else rest
    return LineParts(
        is_ticked=box["tick"] != " ",
        tick_at=box.start("tick"),
        id=first if has_id else None,
        description=rest[0] if has_id else first,
        fields=[part for part in fields[:FIELDS_MAX] if part.text],
        unread=next((part for part in fields[FIELDS_MAX:] if part.text), None),
        is_structured=bool(rest),
    )


def task_of(parts: LineParts, number: int, note: Note) -> HeartbeatTask:
    """The task in these parts, at this line of its file; its id is not yet unique."""
    name = parts.id if parts.id and parts.id.text else parts.description
    found = slug(name.text)
    if name is parts.id and found != name.text:
        note(f"the id {name.text[:80]!r} is read as {found!r}", name.start)
    if not parts.is_structured:
        return HeartbeatTask(
            id=found,
            description=name.text,
            required=False,
            is_structured=False,
            is_ticked=parts.is_ticked,
            line=number,
        )
    obligations, values = _fields(parts, note)
    return HeartbeatTask(
        id=found,
        description=parts.description.text,
        required="optional" not in obligations or "required" in obligations,
        verify=values["verify"].text if "verify" in values else "",
        max_attempts=_attempts(values["max_attempts"], note) if "max_attempts" in values else ATTEMPTS,
        every_s=_every(values["every"], note) if "every" in values else None,
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
    seen = _UNSEEN.sub("", text)[:_SLUG_OF_MAX]
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    words = "".join(one if _is_word(one) else "_" for one in plain)
    return _BLANKS.sub("_", words).strip("_-")[:ID_CHARACTERS_MAX].strip("_-") or "task"


def escaped(text: str) -> str:
    """The text as it stands within a part."""
    return _BAR.sub(r"\\\g<0>", text)


def every_text(seconds: int) -> str:
    """`6h`: in the largest unit that leaves no rest."""
    unit = next(name for name in ("d", "h", "m") if seconds % SECONDS[name] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def every_s(text: str) -> int | None:
    """The seconds of `6h`, `30m`, `1d`; None for what is no such text, or out of bounds."""
    found = _EVERY.fullmatch(text)
    seconds = int(found[1]) * SECONDS[found[2].lower()] if found else 0
    return seconds if EVERY_S_MIN <= seconds <= EVERY_S_MAX else None


def full_width_bar_at(line: str) -> int:
    """Where a bar of full width divides a line; -1 where none does."""
    bars = _PIPE.finditer(_without_code(_without_comments(line))) if FULL_WIDTH_BAR in line else ()
    return next((bar.start() for bar in bars if bar[0] == FULL_WIDTH_BAR), -1)


def splits(line: str) -> list[str]:
    """The texts between the `|` of any line, as many as could be read."""
    return [part.text for part in _split(line, 0)]


def comment_at(line: str) -> int:
    """Where in the line its first comment begins; -1 without one."""
    found = _COMMENT.search(_without_code(line)) if "<!--" in line else None
    return found.start() if found else -1


def _split(line: str, start: int) -> list[LinePart]:
    """The parts from `start`: id, description and `FIELDS_MAX` fields; the one after them is all that is left."""
    shown = _without_comments(line)
    has_full_width = FULL_WIDTH_BAR in shown
    plain = _without_code(shown) if "|" in shown or has_full_width else shown
    has_escapes = "\\" in plain
    count = FIELDS_MAX + 2
    found = list[LinePart]()
    for piece in (
        _PIPE.split(plain[start:], count) if has_escapes or has_full_width else plain[start:].split("|", count)
    ):
        text = piece if plain is shown else shown[start : start + len(piece)]
        words = text.strip()
        at = start + len(text) - len(text.lstrip())
        found.append(LinePart(_ESCAPED.sub(r"\1", words) if has_escapes else words, at))
        start += len(piece) + 1
    return found


def _without_comments(line: str) -> str:
    """The line with blanks in the place of comments; what follows an open one belongs to it."""
    return _blanked(line, (one.span() for one in _COMMENT.finditer(_without_code(line)))) if "<!--" in line else line


def _without_code(line: str) -> str:
    """The line with blanks in the place of code."""
    return _blanked(line, _code(line)) if "`" in line else line


def _blanked(line: str, places: Iterable[tuple[int, int]]) -> str:
    kept, at = list[str](), 0
    for start, end in places:
        kept += (line[at:start], " " * (end - start))
        at = end
    return "".join(kept) + line[at:]


def _code(line: str) -> list[tuple[int, int]]:
    """Where code stands: from one run of backticks to the next of the same length."""
    ahead = Counter(_TICKS.findall(line))
    found, opened = list[tuple[int, int]](), None
    for run in _TICKS.finditer(line):
        ahead[run[0]] -= 1
        if opened is None and ahead[run[0]]:
            opened = run
        elif opened is not None and opened[0] == run[0]:
            found.append((opened.start(), run.end()))
            opened = None
    return found


def _fields(parts: LineParts, note: Note) -> tuple[set[str], dict[str, LinePart]]:
    """The obligations, and each key with its value and where its field begins."""
    obligations, values = set[str](), dict[str, LinePart]()
    for part in parts.fields:
        known = field_of(part.text)
        if known is None:
            note(f"unknown field {part.text[:80]!r}{_meant(part.text)}; it counts for nothing", part.start)
            continue
        name, value = known
        if name in values:
            note(f"`{name}` stands twice; the first counts", part.start)
        elif name not in OBLIGATIONS:
            values[name] = LinePart(value, part.start)
        elif name not in obligations:
            obligations.add(name)
            if len(obligations) > 1:
                note("both `required` and `optional`: it is required", part.start)
    if "verify" in values and not values["verify"].text:
        note("`verify` without a hint", values["verify"].start)
    if parts.unread:
        note(f"a task has at most {FIELDS_MAX} fields; those after them count for nothing", parts.unread.start)
    return obligations, values


def _meant(text: str) -> str:
    word = text.partition(":")[0].strip().casefold().replace(" ", "_").replace("-", "_")
    near = difflib.get_close_matches(word[:30], [*OBLIGATIONS, *KEYS], n=1, cutoff=0.7)
    return f"; did you mean `{near[0]}`?" if near else ""


def _attempts(value: LinePart, note: Note) -> int:
    if _NUMBER.fullmatch(value.text) and 1 <= int(value.text) <= ATTEMPTS_MAX:
        return int(value.text)
    note(f"`max_attempts` must be 1 to {ATTEMPTS_MAX}, not {value.text[:40]!r}; it is {ATTEMPTS}", value.start)
    return ATTEMPTS


def _every(value: LinePart, note: Note) -> int | None:
    seconds = every_s(value.text)
    if seconds is None:
        note(
            f"`every` must be like 30m, 6h or 1d, up to 31d, not {value.text[:40]!r}; it is due each time", value.start
        )
    return seconds


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "_-" or unicodedata.category(character)[0] == "M"
