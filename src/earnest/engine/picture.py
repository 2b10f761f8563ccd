"""What a run works with, as every role is told it: what it was given, where the user is, which programs exist."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from earnest.effects.outside.llm.fencing import Data

PICTURE_CHARACTERS_MAX: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An input or an edit, under its name in the workspace. `entries` are paths of a folder, in words that are safe."""

    name: str
    is_edit: bool
    is_folder: bool
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The surroundings of a run at one moment. `workspace` is what stands there beside what was given."""

    home: str = ""
    folder: str = ""
    network: bool = False
    given: tuple[Given, ...] = ()
    workspace: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


Look: TypeAlias = Callable[[], Awaitable[Picture]]


async def unseen() -> Picture:
    """For minds that nobody shows anything."""
    return Picture()


def picture_parts(picture: Picture) -> Iterator[Data]:
    """The surroundings in words, as one piece of data; nothing, if nobody looked."""
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
