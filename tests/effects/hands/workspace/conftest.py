"""Workspaces whose stages are copies, and such whose stages are layers: the same must hold for both."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from earnest.effects.hands.workspace import known
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import TreeLimits
from earnest.effects.hands.workspace.views import Views
from earnest.foundation.errors import Unavailable

Open = Callable[..., Workspace]


@pytest.fixture(params=["copies", "layers"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """What opens a workspace in `tmp_path`, of the one kind and of the other."""
    is_laid = request.param == "layers"
    if is_laid:
        _skip_without_layers(tmp_path)
        monkeypatch.setattr(known, "LARGE_ENTRIES", 0)
    made: list[Workspace] = []

    def open_one(limits: TreeLimits | None = None, reserved: Collection[str] = ()) -> Workspace:
        folders = tmp_path / "workspace", tmp_path / "stages"
        made.append(Workspace(*folders, limits, reserved, lays=at_once if is_laid else None))
        return made[-1]

    yield open_one
    for workspace in made:
        workspace.close()


@pytest.fixture
def workspace(opened: Open) -> Workspace:
    return opened()


async def at_once(_stages: Path) -> str:
    """No reason against layers."""
    return ""


def _skip_without_layers(folder: Path) -> None:
    views, place = Views(), folder / "try"
    place.mkdir()
    try:
        views.show((folder,), place)
    except Unavailable as error:
        pytest.skip(str(error))
    finally:
        views.close()
