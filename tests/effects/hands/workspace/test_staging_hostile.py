"""What may a hostile command leave in a stage without any of it entering the workspace?"""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.effects.hands.workspace.stage import Stage
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import TreeLimits, stays_inside
from earnest.foundation.errors import Refused

LIMITS = TreeLimits(entries=50, size_bytes=1_000_000, depth=8, path_bytes=200)


@pytest.fixture
async def stage(opened: Callable[..., Workspace]) -> Stage:
    return await opened(LIMITS).stage("s")


def fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def bound_socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(here)


def device(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a device")
    os.mknod(folder / "null", 0o020666, os.makedev(1, 3))


def sparse(folder: Path) -> None:
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 40)


def many(folder: Path) -> None:
    for number in range(51):
        (folder / str(number)).touch()


def deep(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(3_000):  # far beyond what a path, or a recursion, can reach
            Path("d").mkdir()
            os.chdir("d")
    finally:
        os.chdir(here)


def long_path(folder: Path) -> None:
    (folder / ("x" * 201)).touch()


def not_utf8(folder: Path) -> None:
    os.close(os.open(os.fsencode(folder) + b"/\xff", os.O_CREAT))


def link_to(target: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "link").symlink_to(target)

    make.__name__ = f"link_to_{target}"
    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "code"),
    [
        (fifo, "workspace_special_file"),
        (bound_socket, "workspace_special_file"),
        (device, "workspace_special_file"),
        (sparse, "workspace_too_large"),
        (many, "workspace_too_many_files"),
        (deep, "workspace_too_deep"),
        (long_path, "workspace_name"),
        (not_utf8, "workspace_name"),
        (link_to("/etc/passwd"), "workspace_link"),
        (link_to(".."), "workspace_link"),
        (link_to("a/../../b"), "workspace_link"),
    ],
)
async def test_it_is_refused_and_can_be_removed(
    stage: Stage, tmp_path: Path, attack: Callable[[Path], None], code: str
) -> None:
    attack(stage.folder)
    with pytest.raises(Refused) as refused:
        await stage.changes()
    assert refused.value.code == code
    assert list((tmp_path / "workspace").iterdir()) == []

    await Workspace(tmp_path / "workspace", tmp_path / "stages").discard("s")
    assert list((tmp_path / "stages/open").iterdir()) == list((tmp_path / "stages/trash").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "target", "inside"),
    [
        ("a", "b", True),
        ("a", "./b//c/.", True),
        ("d/a", "../b", True),
        ("d/a", "..", True),
        ("d/a", "../..", False),
        ("a", "..", False),
        ("a", "../b", False),
        ("a", "/b", False),
        ("d/e/a", "../../b", True),
        ("d/e/a", "b/../c", False),
        ("d/e/a", "up/..", False),
        ("a", "\udcff", False),
        ("a", "...", True),
    ],
)
def test_a_link_stays_inside_only_if_no_other_link_can_lead_it_out(path: str, target: str, inside: bool) -> None:
    assert stays_inside(path, target) is inside


async def test_links_outwards_are_refused_in_the_workspace_as_well(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages")
    (workspace.folder / "link").symlink_to(tmp_path)
    with pytest.raises(Refused):
        await workspace.stage("s")


async def test_a_folder_swapped_for_a_link_is_not_followed_when_changes_move_in(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages")
    (workspace.folder / "d").mkdir()
    (workspace.folder / "d/precious").write_text("mine")
    stage = await workspace.stage("s")
    (stage.folder / "d/precious").unlink()
    changes = await stage.changes()

    (workspace.folder / "d/precious").unlink()
    (workspace.folder / "d").rmdir()
    (workspace.folder / "d").symlink_to(outside)
    await workspace.commit(stage, changes)

    assert (outside / "precious").read_text() == "precious"
