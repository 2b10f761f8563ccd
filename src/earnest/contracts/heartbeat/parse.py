"""What does a HEARTBEAT.md say, and what in it was meant as a task and is none?"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

from earnest.contracts.heartbeat.layout import LINES_MAX, Layout
from earnest.contracts.heartbeat.line import BOX, field_of, has_comment, parts_of, splits, task_of
from earnest.contracts.heartbeat.task import (
    ID_CHARACTERS_MAX,
    LINE_CHARACTERS_MAX,
    TASKS_MAX,
    Contract,
    HeartbeatTask,
    digest_of_tasks,
)
from earnest.foundation.errors import Diagnostic, Faulty

TEXT_BYTES_MAX: Final = 1024 * 1024
TITLE_CHARACTERS_MAX: Final = 30
"""A longer title reads as a sentence."""
NO_BOX: Final = "no task, and no part of one: that begins with `- [ ] ` and stands on one line"
_MARKS: Final = r"(?:(?:[-*+•\u2013\u2014]|[0-9]{1,9}[.)])[ \t]*)"
_BOX_LIKE: Final = re.compile(
    rf"[\s>]*(?:<!--\s*)?(?P<marks>{_MARKS}*)(?:[☐☑☒]|\[[ \t]*[xX✓✔☑✗~*?!/-]?[ \t]*\](?![(:\[]))"
)
"""What somebody may have meant as a box, whatever it stands in."""
_BARE_ITEM: Final = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_RULE_OR_UNDERLINE: Final = re.compile(r"[\s=*_-]*")
_SENTENCE_ENDS: Final = (".", "!", "?", "。", "\uff01", "\uff1f")


def parse_heartbeat(text: str | bytes, source: str = "HEARTBEAT.md") -> Contract:
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
        line = data.count(b"\n", 0, error.start) + 1
        raise Faulty([Diagnostic(source=source, line=line, message="this is not UTF-8")]) from None


class _Reading:
    """Reads one text; what is wrong collects in `_diagnostics`. Numbers of lines count from 0."""

    def __init__(self, layout: Layout, source: str) -> None:
        self._layout = layout
        self._source = source
        self._diagnostics: list[Diagnostic] = []

    def contract(self) -> Contract:
        lines = self._layout.lines
        if len(lines) > LINES_MAX:
            message = f"from here to line {len(lines)} nothing is read: a HEARTBEAT.md has at most {LINES_MAX} lines"
            self._note(LINES_MAX, message)
        tasks = tuple(self._tasks())
        whole = {task.line - 1 for task in tasks}
        for number, line in enumerate(lines[:LINES_MAX]):
            if number not in whole and (reason := self._dropped(number, line)):
                self._note(number, reason)
        context = self._context(whole, is_alone=not tasks)
        ordered = tuple(sorted(self._diagnostics, key=lambda found: found.line))
        return Contract(tasks=tasks, context=context, digest=digest_of_tasks(tasks), diagnostics=ordered)

    def _note(self, number: int, message: str) -> None:
        self._diagnostics.append(Diagnostic(source=self._source, line=number + 1, message=message))

    def _tasks(self) -> Iterator[HeartbeatTask]:
        """The first `TASKS_MAX` tasks, each with an id of its own."""
        taken = set[str]()
        for number in sorted(self._layout.outline.items):
            line = self._layout.lines[number]
            parts = parts_of(line)
            if parts is None:
                continue
            if len(taken) == TASKS_MAX:
                return
            note = partial(self._note, number)
            task = task_of(parts, number + 1, note)
            if task.id in taken:
                unique = _unique(task.id, taken)
                note(f"the id {task.id!r} is taken; this one is read as {unique!r}")
                task = replace(task, id=unique)
            taken.add(task.id)
            if has_comment(line):
                note("a comment in a task is no part of it")
            if task.is_structured and number not in self._layout.section:
                note("a task outside of `## Tasks` counts all the same")
            yield task

    def _dropped(self, number: int, line: str) -> str | None:
        """Why this line, which is no task, is none; None if it was not meant as one."""
        layout = self._layout
        hidden = "front matter" if number in layout.front else layout.outline.hidden.get(number)
        box = _BOX_LIKE.match(line)
        if box and (box["marks"] or not hidden):
            return f"no task: {self._misshapen(number, line, hidden)}"
        if hidden or len(line) > LINE_CHARACTERS_MAX:
            return None
        is_inside = number in layout.section
        is_item = is_inside and number in layout.outline.items and _BARE_ITEM.match(line)
        return NO_BOX if is_item or _has_fields(line, is_inside) else None

    def _misshapen(self, number: int, line: str, hidden: str | None) -> str:
        is_item = number in self._layout.outline.items
        reasons = (
            (len(line) > LINE_CHARACTERS_MAX, f"a line has at most {LINE_CHARACTERS_MAX} characters"),
            (hidden is not None, f"this is {hidden}"),
            (BOX.match(line) and parts_of(line) is None, "nothing stands beside its box"),
            (not is_item, "it is no item of a list here; begin it with `- [ ] `, below an empty line"),
            (is_item and parts_of(line), f"a HEARTBEAT.md has at most {TASKS_MAX} tasks"),
            (True, "a box is `[ ]` or `[x]`, with a blank after it"),
        )
        return next(reason for holds, reason in reasons if holds)

    def _context(self, tasks: set[int], *, is_alone: bool) -> str:
        """What is neither task, comment nor front matter. Where titles are all that there is: only with a sentence."""
        layout = self._layout
        left_out = tasks | layout.outline.comments | set(layout.front)
        kept = [(at, line) for at, line in enumerate(layout.lines[:LINES_MAX]) if at not in left_out]
        titles = {title.line: title.text.strip() for title in layout.outline.titles}
        if all(at in titles or _RULE_OR_UNDERLINE.fullmatch(line) for at, line in kept):
            sentences = [at for at, text in titles.items() if _is_sentence(text)]
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
    if "|" not in line or (not is_inside and line.strip()[:1] == line.strip()[-1:] == "|"):
        return False  # the row of a table
    texts = splits(line)
    if is_inside:
        return len(texts) > 1 and any(character.isalnum() for character in line)
    return len(texts) > 1 and any(field_of(text) for text in texts)


def _is_sentence(title: str) -> bool:
    return len(title) > TITLE_CHARACTERS_MAX or title.endswith(_SENTENCE_ENDS)
