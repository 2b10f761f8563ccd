"""Is a page shown as what a reader sees, and does no page take longer than it may?"""

import pytest

from earnest.effects.outside.web import text as reading
from earnest.effects.outside.web.fetching import FetchedPage
from earnest.effects.outside.web.text import FIELD_CHARACTERS_MAX, RESULTS_MAX, SearchResult, results_of, text_of
from earnest.foundation.errors import Refused, Unavailable

HTML = "text/html; charset=utf-8"
RESULT = """<div class="result {kind}"><h2><a class="result__a"
  href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.org%2F{number}&amp;rut=1">Title <b>{number}</b></a></h2>
  <a class="result__snippet">What it
  says</a></div>"""


def page(body: str | bytes, content_type: str = HTML) -> FetchedPage:
    data = body.encode() if isinstance(body, str) else body
    return FetchedPage(url="https://a.org/x/", status=200, content_type=content_type, body=data, digest="")


async def test_a_page_is_its_text_with_its_links_and_without_its_scripts() -> None:
    body = """<html><head><title>News</title><style>p {}</style></head><body><script>alert("no")</script>
      <h1>One  <i>and</i>\n two</h1><p>See <a href="../y#z">this</a>, <a href="#here">here</a>
      and <a href="javascript:alert(1)">that</a>.<p>Last &amp; least<pre>a\n  b</pre><noscript>x</noscript>"""
    assert await text_of(page(body)) == (
        "News\nOne and two\nSee this <https://a.org/y>, here and that.\nLast & least\na\nb"
    )


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        ("<p>Grüße</p>".encode("latin-1"), "text/html; charset=iso-8859-1", "Grüße"),
        (b"\xff<p>x</p>", "text/html; charset=nonsense", "x"),
        ('{"a": 1}', "application/json", '{"a": 1}'),
        ("a <b>", "text/plain; charset=utf-8", "a <b>"),
        ("plain", "", "plain"),
        (b"a\xffb", "text/plain; charset=nonsense", "a\ufffdb"),
        (b"a\xffb", "text/plain; charset=idna", "a\ufffdb"),
        (b"a\xffb", "text/plain; charset=undefined", "a\ufffdb"),
        (b"a-" + b"b0a9" * 200_000, "text/plain; charset=punycode", "a-b0a9"),
        (b"ab", 'text/plain; charset="a\0b"', "ab"),
    ],
)
async def test_text_comes_in_many_forms(body: str | bytes, content_type: str, shown: str) -> None:
    assert shown in await text_of(page(body, content_type))


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "application/octet-stream", ""])
async def test_what_is_no_text_is_refused(content_type: str) -> None:
    with pytest.raises(Refused) as caught:
        await text_of(page(b"\x89PNG\0", content_type))
    assert caught.value.code == "page_refused"


@pytest.mark.slow
async def test_a_page_that_takes_its_parser_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "WORKER_S", 1)
    with pytest.raises(Unavailable, match="within bounds"):
        await text_of(page("<!" * 1_000_000))


async def test_a_list_of_results_is_read_without_its_advertisements() -> None:
    entries = [RESULT.format(number=0, kind="result--ad")] + [
        RESULT.format(number=number, kind="") for number in range(1, 20)
    ]
    found = await results_of(page("".join(entries)))
    assert found[0] == SearchResult(title="Title 1", url="https://a.org/1", snippet="What it says")
    assert len(found) == RESULTS_MAX


@pytest.mark.slow
async def test_no_results_is_an_answer_only_where_the_page_says_so() -> None:
    assert await results_of(page('<div class="no-results">No results.</div>')) == []
    with pytest.raises(Unavailable, match="no list of results"):
        await results_of(page("<form>Are you a robot?</form>"))


def test_a_result_cannot_steer_a_terminal_or_pass_for_several() -> None:
    found = SearchResult.of("a\n2. b\x1b[2J", "https://a.org/\u202e", "x" * 10_000)
    assert all(text.isprintable() for text in (found.title, found.url, found.snippet))
    assert len(found.snippet) == FIELD_CHARACTERS_MAX
