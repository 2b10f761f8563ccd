"""The places of a HEARTBEAT.md where tasks stand, and those where none can."""

import re
from collections.abc import Sequence
from typing import Final

from earnest.contracts.heartbeat.markdown import LINE_END, Title, outline_of
from earnest.contracts.heartbeat.task import LINE_CHARACTERS_MAX

LINES_MAX: Final = 3_000
_SECTION: Final = re.compile(r"[\W_]*tasks[\W_]*", re.IGNORECASE)
BOM: Final = "\ufeff"
_FRONT_KEY: Final = re.compile(r"#|[\w.-]+[ \t]*:(?:\s|$)")


class Layout:
    """A text as lines, and what Markdown makes of the first `LINES_MAX` of them. Numbers of lines count from 0.

    `section`: the lines below the first title `Tasks`, up to the next one of its level or above; empty without one.
    `front`: the lines of its front matter. It and lines over `LINE_CHARACTERS_MAX` are blank to the outline.
    """

    def __init__(self, text: str) -> None:
        self.lines: Sequence[str] = LINE_END.split(text.removeprefix(BOM))
        read = self.lines[:LINES_MAX]
        self.front = _front_matter(read)
        shown = ("" if at in self.front or len(line) > LINE_CHARACTERS_MAX else line for at, line in enumerate(read))
        self.outline = outline_of("\n".join(shown))
        self.section = self._section()

    @property
    def has_section(self) -> bool:
        """There is a title `Tasks`, even if nothing is below it."""
        return self.section.start > 0

    def _section(self) -> range:
        titles = self.outline.titles
        for at, title in enumerate(titles):
            if is_section(title):
                ends = (other.line for other in titles[at + 1 :] if other.level <= title.level)
                return range(title.end, next(ends, len(self.lines)))
        return range(0)


def is_section(title: Title) -> bool:
    """True for the title that tasks stand below: `Tasks`, whatever marks or pictures are around it."""
    return _SECTION.fullmatch(title.text) is not None


def _front_matter(lines: Sequence[str]) -> range:
    """From `---` to `---` or `...`, before all but blank lines and comments; its first line looks like YAML."""
    start = _first_shown(lines)
    if start + 1 >= len(lines) or lines[start].rstrip() != "---" or not _FRONT_KEY.match(lines[start + 1]):
        return range(0)
    ends = (number for number in range(start + 1, len(lines)) if lines[number].rstrip() in {"---", "..."})
    end = next(ends, None)
    return range(0) if end is None else range(start, end + 1)


def _first_shown(lines: Sequence[str]) -> int:
    """The first line that is neither blank nor a comment of whole lines."""
    in_comment = False
    for number, line in enumerate(lines):
        text = line.strip()
        if not in_comment and text and not text.startswith("<!--"):
            return number
        in_comment = (in_comment or text.startswith("<!--")) and "-->" not in text
    return len(lines)
