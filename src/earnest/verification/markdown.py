"""What a Markdown text shows. (CommonMark headings, GFM tables; not those in code, comments, collapsed parts.)

A reader of its own: the library that reads HEARTBEAT.md does not tell what elements hide, and takes 33 times as long
for lists in lists, of which a submission may bring megabytes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_LINE_END: Final = re.compile(r"\r\n|\n|\r")  # CommonMark knows no others; `splitlines` does
_FENCE: Final = re.compile(r" {0,3}((?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}|>[ \t]{0,3})*)(`{3,}|~{3,})(.*)")
_FENCE_END: Final = re.compile(r"([ \t>]*)(`{3,}|~{3,})[ \t]*")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NO_PARAGRAPH: Final = ("    ", "\t")
_BLOCK_MARKS: Final = frozenset(">-*+|")
_TICKS: Final = re.compile("`+")
_HIDING: Final = re.compile(
    r"(?P<ticks>`+)|(?P<begin><!--|<\?|<!\[CDATA\[|<![a-z])"
    r"|<(?P<end>/?)(?:details|template|script|style|noscript|textarea|title|pre|xmp|r(?:t|p|tc)|dialog"
    r"|datalist|noembed|noframes|iframe|object|canvas|audio|video|svg|select)\b[^<>]{0,200}>?",
    re.I,
)
_ENDS: Final = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_ALIGNMENT: Final = re.compile(r":?-+:?")


class Heading(NamedTuple):
    """`line` counts from 1; `level` is 1 to 6. The text has single spaces."""

    text: str
    level: int
    line: int


class TableRow(NamedTuple):
    """One line of a table, its cells without surrounding spaces, `\\|` as `|`."""

    line: int
    cells: tuple[str, ...]


class Table(NamedTuple):
    """A table under the last heading above it (empty: none). `rows` have no header and no line of dashes."""

    heading: str
    header: TableRow
    rows: tuple[TableRow, ...]


def headings(text: str) -> list[str]:
    """The text of each heading, in order, with single spaces."""
    return [heading.text for heading in _outline(list(visible_lines(text)))]


def sections(text: str, title: str) -> list[Sequence[str]]:
    """The visible lines below each heading of this title, in any case, up to the next one of its level or above."""
    lines = list(visible_lines(text))
    found = list(_outline(lines))
    parts: list[Sequence[str]] = []
    for at, heading in enumerate(found):
        if heading.text.casefold() == _squeezed(title).casefold():
            later = (found[place] for place in range(at + 1, len(found)))
            end = next((other.line - 1 for other in later if other.level <= heading.level), None)
            parts.append(lines[heading.line : end])
    return parts


def tables(text: str) -> list[Table]:
    """Each table, in order. A header row and a line of as many dashes make one; it ends at the first empty line."""
    lines = list(visible_lines(text))
    titles = list(_outline(lines))
    title_lines = [title.line for title in titles]
    found: list[Table] = []
    at = 1
    while at < len(lines):
        header = _cells(lines[at - 1])
        if header is None or not _is_alignment(lines[at], len(header)):
            at += 1
            continue
        first = at + 1
        while at + 1 < len(lines) and lines[at + 1].strip() and not _begins_block(lines[at + 1]):
            at += 1
        rows = (
            TableRow(number + 1, _cells(lines[number]) or (lines[number].strip(),)) for number in range(first, at + 1)
        )
        above = bisect_left(title_lines, first)
        data = tuple(row for row in rows if not all(_ALIGNMENT.fullmatch(cell) for cell in row.cells))
        found.append(Table(titles[above - 1].text if above else "", TableRow(first - 1, header), data))
        at += 2
    return found


def _outline(lines: Sequence[str]) -> Iterator[Heading]:
    above = ""
    for number, line in enumerate(lines, start=1):
        atx = _atx(line)
        if atx is not None:
            yield Heading(atx, len(line.strip()) - len(line.strip().lstrip("#")), number)
        elif above and _UNDERLINE.fullmatch(line):
            yield Heading(above, 1 if "=" in line else 2, number)
        elif not line.startswith(_NO_PARAGRAPH) and line.lstrip()[:1] not in _BLOCK_MARKS:
            above = _squeezed(line)
            continue
        above = ""


def _atx(line: str) -> str | None:
    body = line.lstrip(" ")
    text = body.lstrip("#")
    level = len(body) - len(text)
    if len(line) - len(body) > 3 or not 1 <= level <= 6 or text[:1] not in {"", " ", "\t"}:
        return None
    text = text.strip()
    unclosed = text.rstrip("#")
    return _squeezed(unclosed if unclosed[-1:] in {"", " ", "\t"} else text)


def visible_lines(text: str) -> Iterator[str]:
    """Every line, emptied where it is fenced code, and without comments and what is in collapsed or unseen elements."""
    fence = place = ""
    hidden = _Hidden()
    for line in _LINE_END.split(text):
        if fence and place and _is_left(place, line):
            fence = ""
        if fence:
            end = _FENCE_END.fullmatch(line)
            if end and end[2].startswith(fence) and (place or end[1] in {"", " ", "  ", "   "}):
                fence = ""
            yield ""
            continue
        opened = _FENCE.fullmatch(line) if not hidden else None
        if opened and not (opened[2][0] == "`" and "`" in opened[3]):
            fence = opened[2]
            place = line[: opened.start(2)] if opened[1] else ""
            yield ""
            continue
        yield hidden.shown(line)


def _is_left(place: str, line: str) -> bool:
    """True if a line is no longer in the quotation or the item of a list that a fence began in."""
    if ">" in place:
        return not line.lstrip().startswith(">")
    line = line.expandtabs(4)
    return bool(line.strip()) and len(line) - len(line.lstrip()) < len(place.expandtabs(4))


class _Hidden:
    """How deep a reader of lines is in comments and in elements that show nothing or no Markdown. True while in any."""

    def __init__(self) -> None:
        self._until = ""
        self._depth = 0

    def __bool__(self) -> bool:
        return bool(self._until) or self._depth > 0

    def shown(self, line: str) -> str:
        """The part of the next line that is seen. Code begins no comment, and in a comment is no code."""
        seen: list[str] = []
        runs = _runs_of_ticks(line)
        at = 0
        while True:
            if self._until:
                end = line.find(self._until, at)
                if end < 0:
                    return "".join(seen)
                at = end + len(self._until)
                self._until = ""
            match = _HIDING.search(line, at)
            if match is None:
                break
            end = match.end()
            if match["ticks"]:
                same = runs[len(match["ticks"])]
                closing = bisect_right(same, match.start())
                end = same[closing] + len(match["ticks"]) if closing < len(same) else end
            if not self:
                seen.append(line[at : end if match["ticks"] else match.start()])
            self._turn(match)
            at = end
        return "".join(seen) if self else "".join(seen) + line[at:]

    def _turn(self, mark: re.Match[str]) -> None:
        if mark["begin"]:
            self._until = _ENDS.get(mark["begin"].upper(), ">")
        elif not mark["ticks"]:
            self._depth = max(0, self._depth + (-1 if mark["end"] else 1))


def _runs_of_ticks(line: str) -> dict[int, list[int]]:
    """Where runs of backticks begin, by their length: code ends at the next run as long as the one that began it."""
    runs: dict[int, list[int]] = {}
    for match in _TICKS.finditer(line):
        runs.setdefault(len(match[0]), []).append(match.start())
    return runs


def _cells(line: str) -> tuple[str, ...] | None:
    """The cells of a table's line, or None if it can be none."""
    if line.startswith(_NO_PARAGRAPH) or "|" not in line:
        return None
    body = line.strip()
    cells = _CELL_END.split(body.removeprefix("|"))
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return tuple(cell.strip().replace("\\|", "|") for cell in cells)


def _is_alignment(line: str, columns: int) -> bool:
    cells = _cells(line) or ((line.strip(),) if columns == 1 else ())
    return len(cells) == columns and all(_ALIGNMENT.fullmatch(cell) for cell in cells)


def _begins_block(line: str) -> bool:
    """True if a table ends before this line."""
    return _atx(line) is not None or line.lstrip()[:1] == ">" or line.startswith(_NO_PARAGRAPH)


def _squeezed(line: str) -> str:
    return " ".join(line.split())
