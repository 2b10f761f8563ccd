"""The documents: what is made from code is as the code says, each page has one place, and names in them are real."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from .reference import PAGES, made
from .source import DOCS, ROOT, SRC, documents, expect_none, modules, page, prose, shown

KINDS = ("Start", "How to", "Reference", "Why")
OF_THE_DATA_DIRECTORY = {("docs/settings.md", name) for name in ("memory", "audit")}
"""Folders that bear a room's name."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_from_code_is_what_make_docs_writes(name: str) -> None:
    assert page(name) == made(name), f"docs/{name} is not what the code says: run `make docs`"


def test_every_page_stands_in_one_of_the_four_kinds() -> None:
    kinds = re.findall(r"^## (.+)$", page("index.md"), flags=re.MULTILINE)
    assert tuple(kinds) == KINDS
    linked = re.findall(r"\]\(([\w/-]+\.md)\)", page("index.md").partition("\n## ")[2])
    assert sorted(linked) == sorted(set(linked)), "a page stands twice"
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.parent.name != "adr"}
    expect_none(pages - {"index.md"} - set(linked), "in no kind")


def test_a_file_or_folder_of_the_package_that_a_document_names_exists() -> None:
    """`runtime/task_run`, `views/` and `engine/model/codec.py` begin with a room and lie in the package."""
    rooms = "|".join(path.name for path in SRC.iterdir() if path.is_dir())
    named = {
        (shown(path), name.removesuffix("/"))
        for path in documents()
        for name in re.findall(rf"`((?:{rooms})/(?:\w+/)*\w*(?:\.py)?)`", prose(path))
        if "adr" not in path.parts and path != ROOT / "CHANGELOG.md" and not re.search("[A-Z]{3}", name)
    } - OF_THE_DATA_DIRECTORY
    assert len(named) > 10
    expect_none(
        (f"{page}: {name}" for page, name in named if not (SRC / name).exists() and not (SRC / f"{name}.py").exists()),
        "not in the package",
    )


def test_a_name_of_the_package_that_a_document_spells_out_is_there() -> None:
    """`earnest.room.module` is a folder, a module, or a name that the source says."""
    source = {path: path.read_text(encoding="utf-8") for path in modules("src")}

    def exists(name: str) -> bool:
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            place = ROOT / "src" / Path(*parts[:end])
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file in source:
                    return all(re.search(rf"\b{word}\b", source[file]) for word in parts[end:])
        return False

    named = {
        (shown(path), name)
        for path in documents()
        if "adr" not in path.parts
        for name in re.findall(r"\b(earnest(?:\.[A-Za-z_]+)+)\b(?![/@-])", prose(path))
    }
    groups = {"earnest.checks", "earnest.log"}
    found = {name for _, name in named} - groups
    assert found, "no document names a module"
    ending = re.compile(r"\.(?:md|1|toml|py|git|sqlite\w*|example|service)$")
    expect_none(
        (f"{where}: {name}" for where, name in named if name in found and not ending.search(name) and not exists(name)),
        "no such name",
    )


class _Addresses(HTMLParser):
    """What a page fetches by itself: scripts, styles, pictures, fonts."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this element has the browser fetch."""
        given = dict(attrs)
        if tag in {"script", "img", "iframe", "source"} and given.get("src"):
            self.fetched.append(given["src"] or "")
        if tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.fetched.append(given["href"] or "")


@pytest.mark.slow  # Sphinx reads all pages: ten seconds
@pytest.mark.timeout(400)  # minutes on a busy machine
def test_the_site_holds_every_page_and_asks_no_other_host(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(DOCS), "-d", str(tmp_path / "read"), str(DOCS)]
    done = subprocess.run([*build, str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))  # and those of the search
    for one in pages:
        addresses = _Addresses()
        addresses.feed(one.read_text(encoding="utf-8"))
        expect_none((name for name in addresses.fetched if "//" in name), f"{one.name} asks another host")
    styles = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "_static").rglob("*.css"))
    assert not re.search(r"url\(['\"]?https?:|@import", styles)
    assert "escrow" in (tmp_path / "site" / "searchindex.js").read_text(encoding="utf-8")
