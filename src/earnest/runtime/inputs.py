"""Folders of the user that a run may be given to read: none that holds, or lies in, what is private."""

from collections.abc import Iterable
from pathlib import Path

from earnest.effects.hands.sandbox.private import private_places
from earnest.foundation.errors import Refused


def refuse_private(inputs: Iterable[Path], user_home: Path, data_home: Path) -> None:
    """Raise `Refused("input_private")` for the first input, a resolved path, that would show a private place.

    The sandbox masks these places for commands; tools that read in our own process see inputs as they are. Reads the
    file system.
    """
    places = private_places(user_home, (data_home,))
    for source in inputs:
        found = next((place for place in places if place.is_relative_to(source) or source.is_relative_to(place)), None)
        if found is not None:
            raise Refused("input_private", f"{source} would show {found}, which is private: name folders beside it")
