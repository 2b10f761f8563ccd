"""The surroundings of a run in words, as one piece of data."""

from collections.abc import Iterator
from typing import Final

from earnest.effects.outside.llm.fencing import Data
from earnest.engine.picture import Given, Picture

PICTURE_CHARACTERS_MAX: Final = 60_000


def picture_parts(picture: Picture) -> Iterator[Data]:
    """Nothing, if nobody looked."""
    if picture != Picture():
        yield Data(name="surroundings", text="\n".join(_lines(picture)), characters_max=PICTURE_CHARACTERS_MAX)


def _lines(picture: Picture) -> Iterator[str]:
    yield f"home (~, $HOME): {picture.home or 'not shown'}"
    yield f"user's current folder: {picture.folder}"
    yield f"network: {'yes' if picture.network else 'no'}; programs: {' '.join(picture.programs)}"
    for given in picture.given:
        yield f"{'edit' if given.is_edit else 'input, read-only'}: {_named(given)}"
        yield from (f"  {entry}" for entry in given.entries)
    yield f"workspace{' besides' if picture.given else ''}:{'' if picture.workspace else ' empty'}"
    yield from (f"  {entry}" for entry in picture.workspace)


def _named(given: Given) -> str:
    if not given.is_folder:
        return f"file {given.name}"
    return f"folder {given.name}/" + ("" if given.entries else " (empty)")
