"""The site of these documents, by Sphinx: `make site`. It asks no other host; its search works offline."""

import re
from typing import Any

from earnest.foundation.version import VERSION

project = "earnest"
version = release = VERSION
author = "the authors of earnest"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["pictures"]
html_theme = "furo"
html_title = f"earnest {VERSION}"
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 4
suppress_warnings = [
    "myst.xref_missing",
    "misc.highlighting_failure",
]  # a test follows links; files of the tree are not pages


def _contents(_: Any, page: str, source: list[str]) -> None:
    """Give the first page the contents that its own headings and links are: one list for readers and for the site."""
    if page != root_doc:
        return
    for heading, links in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", source[0], flags=re.MULTILINE | re.DOTALL):
        pages = re.findall(r"\]\(((?!adr/)[\w/-]+)\.md\)", links) + (["adr/*"] if "(adr/" in links else [])
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```\n"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _contents)
