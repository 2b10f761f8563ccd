"""Reading a HEARTBEAT.md: its tasks, and what was meant as a task and is none."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

from earnest.contracts.heartbeat.layout import BOM, LINES_MAX, Layout
from earnest.contracts.heartbeat.line import (
    BOX,
    FULL_WIDTH_BAR,
    LineParts,
    comment_at,
    field_of,
    full_width_bar_at,
    parts_of,
    splits,
    task_of,
)
from earnest.contracts.heartbeat.markdown import LINE_END
from earnest.contracts.heartbeat.task import (
    ID_CHARACTERS_MAX,
    LINE_CHARACTERS_MAX,
    TASKS_MAX,
    HeartbeatContract,
    HeartbeatTask,
    digest_of_tasks,
)
from earnest.foundation.errors import Diagnostic, Faulty

TEXT_BYTES_MAX: Final = 1024 * 1024
TITLE_CHARACTERS_MAX: Final = 30
"""A longer title reads as a sentence."""
NO_BOX: Final = "no task, and no part of one: that begins with `- [ ] ` and stands on one line"
_BLANK: Final = r"[\s\u00ad\u200b-\u200d\u2060\ufeff]"
"""What looks like a blank, or like nothing."""
_MARK: Final = r"(?:[-*+•◦‣▪·●○\u2013\u2014]|[0-9]{1,9}[.):、\uff0e\uff09])"
_TICK: Final = r"[xX\u0425\u0445\u00d7✓✔☑✗✘✕✖✅❌~*?!/.>+-]"
_BOX_LIKE: Final = re.compile(
    rf"(?:>|{_BLANK})*(?:<!--{_BLANK}*)?(?P<marks>(?:{_MARK}{_BLANK}*)*)"
    rf"(?P<box>[☐☑☒□▢◻⬜🔲]|\[{_BLANK}+\]|[\[\uff3b【]{_BLANK}*(?:{_TICK}{_BLANK}*)?[\]\uff3d】](?![(:\[]))"
)
"""What somebody may have meant as a box, whatever it stands in."""
_BARE_ITEM: Final = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_RULE_OR_UNDERLINE: Final = re.compile(r"[\s=*_-]*")
_SENTENCE_ENDS: Final = (".", "!", "?", "。", "\uff01", "\uff1f")


def parse_heartbeat(text: str | bytes, source: str = "HEARTBEAT.md") -> HeartbeatContract:
    """The contract that `text` is, whatever it looks like, with a diagnostic for each line that is not what it seems.

    Raises `Faulty` for more than `TEXT_BYTES_MAX` and for what is not UTF-8. Of more than `LINES_MAX` lines, and of
    more than `TASKS_MAX` tasks, the first are read. `source` names the file in diagnostics.
    """
    return _Reading(Layout(decoded(text, source)), source).contract()


def decoded(text: str | bytes, source: str) -> str:
    """The text of a file, any byte order mark included. Raises `Faulty` as `parse_heartbeat` does."""
    data = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    if len(data) > TEXT_BYTES_MAX:
        message = f"a HEARTBEAT.md has at most {TEXT_BYTES_MAX} bytes, not {len(data)}"
        raise Faulty([Diagnostic(source=source, line=0, message=message)])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        *above, line = LINE_END.split(data[: error.start].decode().removeprefix(BOM))
        place = Diagnostic(source=source, line=len(above) + 1, column=len(line) + 1, message="this is not UTF-8")
        raise Faulty([place]) from None


class _Reading:
    """Reads one text; what is wrong collects in `_diagnostics`. Numbers of lines count from 0."""

    def __init__(self, layout: Layout, source: str) -> None:
        self._layout = layout
        self._source = source
        self._parts = {number: parts_of(layout.lines[number]) for number in sorted(layout.outline.items)}
        self._diagnostics: list[Diagnostic] = []

    def contract(self) -> HeartbeatContract:
        lines = self._layout.lines
        if len(lines) > LINES_MAX:
            message = f"from here to line {len(lines)} nothing is read: a HEARTBEAT.md has at most {LINES_MAX} lines"
            self._note(LINES_MAX, message)
        tasks = tuple(self._tasks())
        whole = {task.line - 1 for task in tasks}
        for number, line in enumerate(lines[:LINES_MAX]):
            if number not in whole:
                self._name_dropped(number, line)
            self._name_swallowed(number, line)
        context = self._context(whole, is_alone=not tasks)
        ordered = tuple(sorted(self._diagnostics, key=lambda found: (found.line, found.column)))
        return HeartbeatContract(tasks=tasks, context=context, digest=digest_of_tasks(tasks), diagnostics=ordered)

    def _note(self, number: int, message: str, at: int = 0) -> None:
        place = Diagnostic(source=self._source, line=number + 1, column=at + 1, message=message)
        self._diagnostics.append(place)

    def _tasks(self) -> Iterator[HeartbeatTask]:
        """The first `TASKS_MAX` tasks, each with an id of its own."""
        taken = set[str]()
        for number, parts in self._parts.items():
            line = self._layout.lines[number]
            if parts is None or self._is_context(number, parts):
                continue
            if len(taken) == TASKS_MAX:
                return
            note = partial(self._note, number)
            task = task_of(parts, number + 1, note)
            if task.id in taken:
                unique = _unique(task.id, taken)
                note(
                    f"the id {task.id!r} is taken; this one is read as {unique!r}",
                    (parts.id or parts.description).start,
                )
                task = replace(task, id=unique)
            taken.add(task.id)
            if (at := full_width_bar_at(line)) >= 0:
                note("a full-width bar is read as `|`", at)
            if (at := comment_at(line)) >= 0:
                note("a comment in a task is no part of it", at)
            yield task

    def _is_context(self, number: int, parts: LineParts) -> bool:
        """A structured task stands below `## Tasks`; elsewhere such a line is context, like the text around it."""
        return parts.is_structured and number not in self._layout.section

    def _name_dropped(self, number: int, line: str) -> None:
        """Say why this line, which is no task, is none, if it was meant as one."""
        layout = self._layout
        hidden = "front matter" if number in layout.front else layout.outline.hidden.get(number)
        box = _BOX_LIKE.match(line)
        if box and (box["marks"] or not hidden):
            self._note(number, f"no task: {self._misshapen(number, line, hidden)}", box.start("box"))
        elif not hidden and len(line) <= LINE_CHARACTERS_MAX:
            is_inside = number in layout.section
            is_item = is_inside and number in layout.outline.items and _BARE_ITEM.match(line)
            if is_item or _has_fields(line, is_inside):
                self._note(number, NO_BOX, len(line) - len(line.lstrip()))

    def _name_swallowed(self, number: int, line: str) -> None:
        """Name the first box in it that begins a line for whoever takes other characters for the end of one."""
        at = 0
        for piece in line.splitlines(keepends=True):
            box = _BOX_LIKE.match(piece) if at else None
            if box and box["marks"]:
                self._note(
                    number, "no task: this is the middle of a line; only CR and LF end one", at + box.start("box")
                )
                return
            at += len(piece)

    def _misshapen(self, number: int, line: str, hidden: str | None) -> str:
        if len(line) > LINE_CHARACTERS_MAX:
            return f"a line has at most {LINE_CHARACTERS_MAX} characters"
        if hidden:
            return f"this is {hidden}"
        if number not in self._parts:
            return "it is no item of a list here; begin it with `- [ ] `, below an empty line"
        if BOX.match(line) is None:
            return "a box is `[ ]` or `[x]`, with a blank after it"
        return self._uncounted(number, self._parts[number])

    def _uncounted(self, number: int, parts: LineParts | None) -> str:
        """Why a line with a box, in a list, is none of the tasks."""
        if parts is None:
            return "nothing stands beside its box"
        if self._is_context(number, parts):
            return "a task with fields stands below `## Tasks`; here it is context"
        return f"a HEARTBEAT.md has at most {TASKS_MAX} tasks"

    def _context(self, tasks: set[int], *, is_alone: bool) -> str:
        """What is neither task, comment nor front matter. Where titles are all that there is: only with a sentence."""
        layout = self._layout
        left_out = tasks | layout.outline.comments | set(layout.front)
        kept = [(at, line) for at, line in enumerate(layout.lines[:LINES_MAX]) if at not in left_out]
        titles = {title.line: title.text.strip() for title in layout.outline.titles}
        if all(at in titles or _RULE_OR_UNDERLINE.fullmatch(line) for at, line in kept):
            sentences = [
                at for at, text in titles.items() if len(text) > TITLE_CHARACTERS_MAX or text.endswith(_SENTENCE_ENDS)
            ]
            if not sentences:
                return ""
            if is_alone:
                self._note(sentences[0], "this title reads as a sentence, and titles are all that there is")
        return "\n".join(line for _, line in kept).strip()


def _unique(name: str, taken: set[str]) -> str:
    """The name with `-2`, `-3`, …, whichever is free."""
    suffixed = (f"{name[: ID_CHARACTERS_MAX - len(str(at)) - 1]}-{at}" for at in count(2))
    return next(one for one in suffixed if one not in taken)


def _has_fields(line: str, is_inside: bool) -> bool:
    """True if a line that is no task has the `|` of one: within `## Tasks` any, elsewhere beside a known field."""
    if not ("|" in line or FULL_WIDTH_BAR in line) or (not is_inside and line.strip()[:1] == line.strip()[-1:] == "|"):
        return False  # the row of a table
    texts = splits(line)
    if is_inside:
        return len(texts) > 1 and any(character.isalnum() for character in line)
    return len(texts) > 1 and any(field_of(text) for text in texts)
