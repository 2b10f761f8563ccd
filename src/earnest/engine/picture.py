"""What a run works with, as every role is told it: what it was given, where the user is, which programs exist."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias


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
