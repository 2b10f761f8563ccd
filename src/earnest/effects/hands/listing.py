"""A bounded list of what a folder holds, for models and people; names are data, whatever stands in them."""

import json
import os
from collections import Counter, deque
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

ENTRIES_MAX: Final = 200
VISITED_MAX: Final = 20_000
NAME_CHARACTERS_MAX: Final = 200
_GIT: Final = ".git"


def listing(root: Path, *, passed_over: Collection[str] = (), entries_max: int = ENTRIES_MAX) -> tuple[str, ...]:
    """Paths below `root`, nearest first, a folder with `/` at its end; what is over the bound is counted by folder.

    `passed_over` are names directly below. Of `.git` only the name is given; links are named and not followed.
    """
    shown: list[str] = []
    more: Counter[str] = Counter()
    number = 0
    for number, path in enumerate(_paths(root, frozenset(passed_over)), start=1):
        if number > VISITED_MAX:
            break
        if len(shown) < entries_max:
            shown.append(escaped(path))
        elif not path.endswith("/"):
            top, slash, _ = path.partition("/")
            more[escaped(top) + slash if slash else "the folder itself"] += 1
    least = "at least " if number > VISITED_MAX else ""
    return (*shown, *(f"… {least}{count} more files in {folder}" for folder, count in sorted(more.items())))


def escaped(name: str) -> str:
    """One line of bounded length; what could not be shown as it is stands as JSON."""
    text = name if name.isprintable() and name == name.strip() else json.dumps(name)
    return text if len(text) <= NAME_CHARACTERS_MAX else f"{text[:NAME_CHARACTERS_MAX]}…"


def _paths(root: Path, passed_over: frozenset[str]) -> Iterator[str]:
    folders = deque([(root, "")])
    while folders:
        folder, prefix = folders.popleft()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if not prefix and entry.name in passed_over:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            yield f"{prefix}{entry.name}{'/' if is_folder else ''}"
            if is_folder and entry.name != _GIT:
                folders.append((Path(entry.path), f"{prefix}{entry.name}/"))
