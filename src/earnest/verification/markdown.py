"""Which headings does a Markdown text show? (CommonMark ATX and setext headings; not those in code or comments.)"""

import re
from collections.abc import Iterator
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NO_PARAGRAPH: Final = ("    ", "\t")
_BLOCK_MARKS: Final = frozenset(">-*+|")


def headings(text: str) -> list[str]:
    """The text of each heading, in order, with single spaces."""
    found: list[str] = []
    above = ""
    for line in _visible_lines(text):
        atx = _atx(line)
        if atx is not None:
            found.append(atx)
        elif above and _UNDERLINE.fullmatch(line):
            found.append(above)
        elif not line.startswith(_NO_PARAGRAPH) and line.lstrip()[:1] not in _BLOCK_MARKS:
            above = _squeezed(line)
            continue
        above = ""
    return found


def _atx(line: str) -> str | None:
    body = line.lstrip(" ")
    text = body.lstrip("#")
    level = len(body) - len(text)
    if len(line) - len(body) > 3 or not 1 <= level <= 6 or text[:1] not in {"", " ", "\t"}:
        return None
    text = text.strip()
    unclosed = text.rstrip("#")
    return _squeezed(unclosed if unclosed[-1:] in {"", " ", "\t"} else text)


def _visible_lines(text: str) -> Iterator[str]:
    """Lines outside fenced code and HTML comments."""
    fence = ""
    in_comment = False
    for line in text.splitlines():
        opened = _FENCE.fullmatch(line) if not in_comment else None
        if fence:
            if opened and opened[1].startswith(fence) and not opened[2].strip():
                fence = ""
            continue
        if opened and not (opened[1][0] == "`" and "`" in opened[2]):
            fence = opened[1]
            yield ""
            continue
        shown, in_comment = _without_comments(line, in_comment=in_comment)
        yield shown


def _without_comments(line: str, *, in_comment: bool) -> tuple[str, bool]:
    shown = ""
    while line:
        if in_comment:
            _, end, line = line.partition("-->")
            in_comment = not end
        else:
            before, start, line = line.partition("<!--")
            shown += before
            in_comment = bool(start)
    return shown, in_comment


def _squeezed(line: str) -> str:
    return " ".join(line.split())
