"""A fetched page as text. HTML is read by a process of its own, other text as it is."""

import codecs
import json
from base64 import b64encode
from dataclasses import dataclass
from email.message import Message
from importlib.util import find_spec
from typing import Final

from earnest.effects.ground.process import answer_of
from earnest.effects.outside.web.fetching import FetchedPage
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.text import printable

WORKER: Final = "earnest.effects.outside.web.worker"
WORKER_S: Final = 15
HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
TEXTS: Final = frozenset({"application/json", "application/xml", "application/javascript", "application/yaml"})
SUFFIXES: Final = ("+json", "+xml", "+yaml")
NO_CHARSETS: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Codecs that no page is written in: they fail, or take quadratic time."""
SNIFFED_BYTES: Final = 4_096
RESULTS_MAX: Final = 10
FIELD_CHARACTERS_MAX: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result of a search. Others wrote it."""

    title: str
    url: str
    snippet: str

    @classmethod
    def of(cls, *fields: object) -> "SearchResult":
        """Title, address and snippet as they came, each made one line of at most `FIELD_CHARACTERS_MAX`."""
        title, url, snippet = (printable(" ".join(str(each).split()))[:FIELD_CHARACTERS_MAX] for each in fields)
        return cls(title=title, url=url, snippet=snippet)


async def text_of(page: FetchedPage) -> str:
    """Its text. Raises `Refused("page_refused")` for what is none, and `Unavailable` if it cannot be read in time."""
    kind, charset = _content_type(page.content_type)
    if kind in HTML:
        answer = await _read(page, charset, results=False)
        return str(answer["text"])
    is_text = kind.startswith("text/") or kind in TEXTS or kind.endswith(SUFFIXES)
    if not is_text and (kind or b"\0" in page.body[:SNIFFED_BYTES]):
        raise Refused("page_refused", f"{page.url} is no text but {kind or 'binary'}")
    try:
        name = codecs.lookup(charset or "utf-8").name
        return page.body.decode("utf-8" if name in NO_CHARSETS else name, errors="replace")
    except (LookupError, ValueError):
        return page.body.decode(errors="replace")


async def results_of(page: FetchedPage) -> list[SearchResult]:
    """The results on a page of DuckDuckGo. Raises `Unavailable` if it neither has any nor says that there are none."""
    match await _read(page, _content_type(page.content_type)[1], results=True):
        case {"results": [*results], "none": bool(none)} if results or none:
            return [SearchResult.of(*row) for row in results[:RESULTS_MAX] if isinstance(row, list)]
    raise Unavailable("the search engine answered with a page that is no list of results")


async def _read(page: FetchedPage, charset: str, *, results: bool) -> JsonObject:
    if find_spec("bs4") is None:
        raise Unavailable("what reads HTML is not installed: install 'earnest[web]'")
    asked: JsonObject = {"body": b64encode(page.body).decode(), "charset": charset, "url": page.url, "results": results}
    try:
        read: JsonObject = json.loads(await answer_of(WORKER, asked, WORKER_S))
    except (TimeoutError, ValueError):
        raise Unavailable(f"the page at {page.url} cannot be read within bounds") from None
    return read


def _content_type(header: str) -> tuple[str, str]:
    """Media type and character set in small letters, empty where not told."""
    message = Message()
    message["Content-Type"] = header
    return (message.get_content_type() if header.strip() else ""), message.get_content_charset() or ""
