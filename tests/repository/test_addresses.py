"""Does every link lead somewhere, and does nothing point at a registry, a download or one person's machine?"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .source import ROOT, documents, expect_none, kept_files, prose, shown

# Written so that no pattern matches its own line.
REGISTRY = r"\b(pypi|pythonhosted|npmjs|rubygems|crates)\.(org|io)\b|\b(ghcr|docker|quay)\.io\b|\bproxy\.golang\.org\b"
DOWNLOAD = r"https?://[^\s\"')>]+\.(?:whl|tgz|tar\.gz|tar\.xz|zip|deb|rpm|gguf)\b"
INDEX = r"--(?:extra-)?index-ur[l]\b|--find-link[s]\b"
HOME = r"/(?:home|Users)/(?!\$|<|\.\.\.|someone\b|alice\b|bob\b|user\b)[A-Za-z]\w*/"
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")


def _machine() -> list[str]:
    """Where this very checkout and its interpreter lie."""
    places = [str(ROOT)]
    if not sys.base_prefix.startswith("/usr"):
        places.append(sys.base_prefix)
    return [re.escape(place) + r"\b" for place in places if len(Path(place).parts) > 2]


def test_no_file_holds_a_registry_a_download_or_a_path_of_one_machine() -> None:
    unwanted = re.compile("|".join([REGISTRY, DOWNLOAD, INDEX, HOME, *_machine()]))
    found = [
        f"{shown(path)}:{number} {match.group()}"
        for path in kept_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if (match := unwanted.search(line)) and path.resolve() != Path(__file__).resolve()
    ]
    expect_none(found, "a registry, a download or a path of one machine")


def _anchors(path: Path) -> set[str]:
    """The fragment of each heading, as renderers make it: lower case, punctuation dropped, blanks to hyphens."""
    headings = re.findall(r"^#{1,6} +(.+?) *$", prose(path), flags=re.MULTILINE)
    return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", heading.lower())) for heading in headings}


def _dead_links(path: Path) -> Iterator[str]:
    for match in LINK.finditer(prose(path)):
        target, _, fragment = (match.group(1) or match.group(2)).partition("#")
        if re.match(r"[a-z]+:|\$url/", target):  # what is served is filled in with the platform's own address
            continue
        place = (path.parent / target).resolve() if target else path
        missing_anchor = fragment and place.suffix == ".md" and place.is_file() and fragment not in _anchors(place)
        if not place.exists() or missing_anchor:
            yield f"{shown(path)}: {match.group()}"


def test_every_link_between_documents_resolves() -> None:
    dead_on_purpose = ROOT / "examples" / "gallery" / "dead-links"
    read = (path for path in documents() if not path.is_relative_to(dead_on_purpose))
    expect_none((link for path in read for link in _dead_links(path)), "leads nowhere")


def test_every_file_that_a_document_names_exists() -> None:
    named = {
        (shown(page), name)
        for page in documents()
        for name in re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    }
    expect_none((f"{page}: {name}" for page, name in named if not (ROOT / name).exists()), "not there")


def test_every_document_is_within_reach_of_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        links = (match.group(1) for match in LINK.finditer(prose(page)) if match.group(1))
        for link in links:
            place = (page.parent / link.partition("#")[0]).resolve()
            pages = [place] if place.is_file() else sorted(place.glob("*.md")) if place.is_dir() else []
            ahead.extend(found for found in pages if found.suffix == ".md" and found not in reached)
    served = ROOT / "src" / "earnest" / "surfaces" / "web" / "documents"
    elsewhere = (ROOT / "examples", served)
    published = {path for path in documents() if not any(path.is_relative_to(folder) for folder in elsewhere)}
    expect_none(map(shown, published - reached), "no link leads there")
