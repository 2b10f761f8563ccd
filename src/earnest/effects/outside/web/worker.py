"""The text of an HTML page, as a program: a question on stdin, an answer on stdout, bounded time and memory.

A process of its own, because the parser takes quadratic time for some pages: nothing else could end it.
"""

import json
import re
import resource
import sys
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qs, urljoin, urlsplit

from bs4 import BeautifulSoup, Tag

CPU_S: Final = 10
MEMORY_BYTES: Final = 1024 * 1024 * 1024
TEXT_CHARACTERS_MAX: Final = 400_000
LINK_CHARACTERS_MAX: Final = 500
DROPPED: Final = ("script", "style", "noscript", "template", "svg", "iframe", "object")
BLOCKS: Final = (
    *("address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
    *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol"),
    *("option", "p", "pre", "section", "table", "title", "tr", "ul"),
)
_BREAK: Final = "\0"
_SPACE: Final = re.compile(r"[^\S\0]+")


def main() -> None:
    """Answer `{"text": …}`, or of a list of results `{"results": [[title, url, snippet], …], "none": …}`."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    page = BeautifulSoup(b64decode(asked["body"]), "html.parser", from_encoding=asked["charset"] or None)
    answer: dict[str, Any]
    if asked["results"]:
        answer = {"results": list(results(page)), "none": page.find(class_="no-results") is not None}
    else:
        answer = {"text": text(page, asked["url"])}
    sys.stdout.write(json.dumps(answer))


def text(page: BeautifulSoup, url: str) -> str:
    """What a reader sees, a line for each block, links as `words <address>`. What is cut off is told at the end."""
    for tag in page(DROPPED):
        tag.decompose()
    for tag in page("pre"):
        for string in tag.find_all(string=True):
            string.replace_with(string.replace("\n", _BREAK))
    for tag in page("a", href=True):
        if address := _address(url, str(tag["href"])):
            tag.append(f" <{address}>")
    for tag in page(BLOCKS):
        tag.insert_before(_BREAK)
        tag.insert_after(_BREAK)
    lines = (line.strip() for line in _SPACE.sub(" ", page.get_text()).split(_BREAK))
    whole = "\n".join(line for line in lines if line)
    cut = len(whole) - TEXT_CHARACTERS_MAX
    return whole if cut <= 0 else f"{whole[:TEXT_CHARACTERS_MAX]}\n[{cut} characters left out]"


def results(page: BeautifulSoup) -> Iterator[tuple[str, str, str]]:
    """Title, address and snippet of each result of DuckDuckGo's page without scripts; advertisements are left out."""
    for entry in page.find_all(class_="result"):
        link, snippet = entry.find(class_="result__a"), entry.find(class_="result__snippet")
        if not isinstance(link, Tag) or "result--ad" in entry.get_attribute_list("class"):
            continue
        address = urlsplit(urljoin("https://duckduckgo.com/", str(link.get("href", ""))))
        target = parse_qs(address.query).get("uddg", [""])[0] or address.geturl()
        if target.startswith(("http://", "https://")):
            yield link.get_text(), target, snippet.get_text() if isinstance(snippet, Tag) else ""


def _address(base: str, link: str) -> str:
    """Where a link leads; empty for what stays on the page, is no web address or is too long to be shown."""
    try:
        address = urljoin(base, link).partition("#")[0]
    except ValueError:
        return ""
    good = address.startswith(("http://", "https://")) and len(address) <= LINK_CHARACTERS_MAX
    return address if good and address != base and address.isprintable() else ""


if __name__ == "__main__":
    main()
