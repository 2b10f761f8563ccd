"""The first line of a run on a terminal: what was asked for, told before what works it is loaded."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from earnest.app.orders import Words
from earnest.app.places import home_of
from earnest.surfaces.cli.printing import say, short

WORDS_CHARACTERS_MAX: Final = 200


def open_with(asked: Path | Words | str, inputs: Mapping[str, Path], spec: Path | None = None) -> None:
    """Print it for a playbook, words or the id of a run, with what takes the place of inputs, where somebody looks on.

    Nothing is printed for what is not there: the fault comes next. Raises `Faulty` for a home that cannot be one.
    """
    home = home_of(os.environ)
    files = [path for path in (asked, spec) if isinstance(path, Path)]
    is_blank = isinstance(asked, Words) and not asked.text.strip()
    if sys.stdout.isatty() and not is_blank and all(path.is_file() for path in files):
        say("; ".join([*_parts(asked, inputs, spec), f"home {home}"]))
        sys.stdout.flush()


def _parts(asked: Path | Words | str, inputs: Mapping[str, Path], spec: Path | None) -> Iterator[str]:
    if not isinstance(asked, Words):
        yield str(asked) if isinstance(asked, Path) else f"resume {asked}"
        yield from _named("reads", inputs)
        return
    yield short(asked.text, WORDS_CHARACTERS_MAX)
    yield from _named("edits a copy of", asked.edits)
    yield from _named("reads", asked.inputs)
    if asked.executor:
        yield f"worked by {short(asked.executor, WORDS_CHARACTERS_MAX)}"
    if spec:
        yield f"judged by {spec}"


def _named(how: str, places: Mapping[str, Path]) -> Iterator[str]:
    if places:
        yield f"{how} {', '.join(places)}"
