"""Which lines of a Markdown text are list items, which titles, and which code, comment or quote? (CommonMark)"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

NESTING_MAX: Final = 12
"""Lists and quotes within each other; a list counts twice. What lies deeper is nothing."""
LINE_END: Final = re.compile(r"\r\n|\n|\r")
_COMMENT_START: Final = re.compile(r"\s*<!--")
_HIDING: Final = {"fence": "code", "code_block": "code, since it is indented", "blockquote_open": "a quote"}


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


def _blocks_only() -> MarkdownIt:
    """CommonMark without link references, which have no lines of their own, and without what stands within lines."""
    parser = MarkdownIt("commonmark", {"maxNesting": NESTING_MAX})
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.disable("reference")
    return parser


_PARSER: Final = _blocks_only()


def outline_of(text: str) -> Outline:
    """The outline of a text."""
    tokens = _PARSER.parse(text)
    items, titles = dict[int, int](), list[Title]()
    hidden, comments = dict[int, str](), set[int]()
    quotes = 0
    list_end = 0
    for token, following in pairwise([*tokens, Token("", "", 0)]):
        kind = token.type
        first, end = token.map or (0, 0)
        if end and token.level == 0:
            list_end = end
        if kind == "list_item_open":
            if not quotes and following.type == "paragraph_open":
                items[first] = list_end
        elif kind in _HIDING:
            hidden.update(dict.fromkeys(range(first, end), _HIDING[kind]))
            quotes += token.nesting
        elif kind == "blockquote_close":
            quotes -= 1
        elif kind == "html_block":
            is_comment = _COMMENT_START.match(token.content) is not None
            hidden.update(dict.fromkeys(range(first, end), "a comment" if is_comment else "HTML"))
            comments.update(range(first, end) if is_comment else ())
        elif kind == "heading_open" and token.level == 0:
            titles.append(Title(line=first, end=end, level=int(token.tag[1]), text=following.content))
    return Outline(titles=titles, items=items, hidden=hidden, comments=frozenset(comments))
