"""Is the outline what CommonMark makes of a text, though parts of it are read by quicker rules?"""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from earnest.contracts.heartbeat.markdown import LISTS_MAX, outline_of

MARKS = (
    "- ,* ,+ ,1. ,2. ,7) ,[ ] ,a,b c,é,  ,    ,# ,## T,---,===,- -,***,```,~~~,<!-- ,-->,<div>,</div>,<a>,`,|,[a]: b"
)
PIECES = st.sampled_from([*MARKS.split(","), "\t", "\\", "\n", "\n", "\n\n"])
TEXTS = st.lists(PIECES, max_size=40).map("".join)
WHOLE = MarkdownIt("commonmark", {"maxNesting": 2 * LISTS_MAX}).disable("reference")
"""The library's own rules, all but those for links that stand apart, which hide no line from anybody."""
WITH_QUOTES = st.lists(PIECES | st.just("> "), max_size=40).map("".join)


def of_library(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int, str]], list[tuple[int, int, str]]]:
    """Where items begin with text and their list ends; where titles stand; what hides lines."""
    items, titles, hidden, end = [], [], [], 0
    for token, following in pairwise([*WHOLE.parse(text), None]):
        assert token
        span = token.map or [0, 0]
        end = span[1] if span[1] and token.level == 0 else end
        if token.type == "list_item_open" and following and following.type == "paragraph_open":
            items.append((span[0], end))
        elif token.type == "heading_open" and token.level == 0 and following:
            titles.append((span[0], span[1], following.content))
        elif token.type in {"fence", "code_block", "html_block"}:
            hidden.append((span[0], span[1], token.type))
    return items, titles, hidden


@pytest.mark.slow
@given(TEXTS)
@settings(max_examples=500)
def test_items_titles_and_what_hides_are_those_of_the_library(text: str) -> None:
    outline = outline_of(text)
    items, titles, hidden = of_library(text)
    assert list(outline.items.items()) == items
    assert [(title.line, title.end, title.text) for title in outline.titles] == titles
    assert set(outline.hidden) == {line for first, end, _ in hidden for line in range(first, end)}


@pytest.mark.slow
@given(WITH_QUOTES)
@settings(max_examples=500)
def test_no_item_is_in_a_line_that_begins_as_a_quote(text: str) -> None:
    outline = outline_of(text)
    lines = text.split("\n")
    assert not any(lines[number].startswith(">") for number in outline.items)
    assert not set(outline.items) & set(outline.hidden)


def test_a_quote_is_its_lines_and_what_goes_on_below_is_text() -> None:
    outline = outline_of("> said\nlazily\n2. [ ] x\n\n- a\n  > - b\n  > c\n  - d\n")
    assert (dict(outline.hidden), list(outline.items)) == ({0: "a quote", 5: "a quote", 6: "a quote"}, [4, 7])
