"""What `earnest help COMMAND`, the manual page and docs/cli.md say of a command beyond its `--help`.

The notes stand in notes.txt: below the name of each command Markdown, whose links begin in docs/.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def notes() -> Mapping[str, str]:
    """The notes, by command."""
    text = (files("earnest.surfaces.cli") / "notes.txt").read_text(encoding="utf-8")
    found = re.findall(r"^## ([^\n]+)\n\n(.+?)\n(?=\n## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return dict(found)


def as_plain_text(note: str) -> str:
    """A note for a terminal: of a link its words."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", note)
