"""Lines of a Markdown text by kind: list items, titles, code, comments, quotes. (CommonMark)"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, list_block
from markdown_it.token import Token

LISTS_MAX: Final = 6
"""Lists within each other. What lies deeper is nothing, to the end of its list."""
LINE_END: Final = re.compile(r"\r\n|\n|\r")
_UNDERLINE: Final = re.compile(r"\n(?<!\n\n)[ \t]*(?:=+|-+)[ \t]*(?:\n|\Z)")
_COMMENT_START: Final = re.compile(r"\s*<!--")
_HIDING: Final = {"fence": "code", "code_block": "code, since it is indented", "quote": "a quote"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A heading on the lines from `line`, counted from 0, to before `end`; `level` is 1 to 6."""

    line: int
    end: int
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Lines count from 0. `items`: where an item of a list begins with text, and where the whole list ends.

    `hidden`: what a line is in which nothing can be a task.
    """

    titles: Sequence[Title]
    items: Mapping[int, int]
    hidden: Mapping[int, str]
    comments: frozenset[int]


def _quote(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """The rule for quotes: the lines with `>`, unread, since nothing in them can be a task.

    CommonMark lets the paragraph that a quote ends with go on without `>`; here that is text below it. To find where it
    ends takes reading what is in the quote, for which the library looks ahead as far as anything could go on: in the
    square of the lines for quotes that end at once.
    """
    if not _is_quoted(state, first) or state.is_code_block(first):
        return False
    if not silent:
        at = first + 1
        while at < end and state.sCount[at] >= state.blkIndent and _is_quoted(state, at):
            at += 1
        state.push("quote", "", 0).map = [first, at]
        state.line = at
    return True


def _is_quoted(state: StateBlock, line: int) -> bool:
    return state.src.startswith(">", state.bMarks[line] + state.tShift[line])


def _paragraph(state: StateBlock, first: int, _end: int, _silent: bool) -> bool:
    """The rule for paragraphs as it is, but what stands in them is unread, and is looked for first what is most often
    below an item: the next one.
    """
    rules = [list_block, *state.md.block.ruler.getRules("paragraph")]
    parent, state.parentType = state.parentType, "paragraph"
    at = first + 1
    while at < state.lineMax and not state.isEmpty(at):
        is_code = state.sCount[at] - state.blkIndent > 3  # which no paragraph ends at
        if not is_code and any(rule(state, at, state.lineMax, True) for rule in rules):
            break
        at += 1
    state.parentType = parent
    state.push("paragraph", "", 0).map = [first, at]
    state.line = at
    return True


def _blocks_only(*, may_underline: bool) -> MarkdownIt:
    """CommonMark without link references, which have no lines of their own, and without what stands within lines."""
    parser = MarkdownIt("commonmark", {"maxNesting": 2 * LISTS_MAX})
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.disable("reference" if may_underline else ["reference", "lheading"])
    parser.block.ruler.at("blockquote", _quote, {"alt": ["paragraph", "list"]})
    parser.block.ruler.at("paragraph", _paragraph)
    return parser


_PARSER: Final = _blocks_only(may_underline=True)
_QUICK_PARSER: Final = _blocks_only(may_underline=False)
"""Does not look whether a title is underlined, below each paragraph and item."""


def outline_of(text: str) -> Outline:
    """The outline of a text."""
    tokens = (_PARSER if _UNDERLINE.search(text) else _QUICK_PARSER).parse(text)
    items, titles = dict[int, int](), list[Title]()
    hidden, comments = dict[int, str](), set[int]()
    list_end = 0
    for token, following in pairwise([*tokens, Token("", "", 0)]):
        kind = token.type
        first, end = token.map or (0, 0)
        if end and token.level == 0:
            list_end = end
        if kind == "list_item_open":
            if following.type == "paragraph":
                items[first] = list_end
        elif kind in _HIDING:
            hidden.update(dict.fromkeys(range(first, end), _HIDING[kind]))
        elif kind == "html_block":
            is_comment = _COMMENT_START.match(token.content) is not None
            hidden.update(dict.fromkeys(range(first, end), "a comment" if is_comment else "HTML"))
            comments.update(range(first, end) if is_comment else ())
        elif kind == "heading_open" and token.level == 0:
            titles.append(Title(line=first, end=end, level=int(token.tag[1]), text=following.content))
    return Outline(titles=titles, items=items, hidden=hidden, comments=frozenset(comments))
