"""Boxes that show an environment stand ready as plain ones do, and never show one that is not there any more."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from sandbox_programs import LIMITS

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Execution, Profile, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.equipped import Equipment, equipped
from earnest.effects.hands.sandbox.pool import KINDS_MAX
from earnest.effects.hands.sandbox.provider import BubblewrapSandbox

SHOW = Execution(profile=Profile.VERIFY, argv=("/bin/sh", "-c", "cat $VIRTUAL_ENV/said"), limits=LIMITS)


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[BubblewrapSandbox]:
    opened = await open_sandbox(SandboxSettings(pool=1), SystemClock())
    assert isinstance(opened, BubblewrapSandbox)
    yield opened
    await opened.close()


def built(folder: Path, said: str) -> Equipment:
    folder.mkdir()
    (folder / "said").write_text(said)
    return Equipment(name=said, folder=folder, is_built=True)


async def shown(sandbox: BubblewrapSandbox, equipment: Equipment) -> str:
    return (await equipped(sandbox, equipment).run(SHOW)).stdout.decode()


async def full(sandbox: BubblewrapSandbox) -> None:
    async with asyncio.timeout(60):
        while not sandbox._pool.fewest:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_second_box_of_an_environment_stands_ready(
    sandbox: BubblewrapSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    equipment = built(tmp_path / "one", "one")
    assert await shown(sandbox, equipment) == "one"
    await full(sandbox)

    async def nobody_begins(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(sandbox._pool, "begin", nobody_begins)
    assert await shown(sandbox, equipment) == "one"


@pytest.mark.slow
@pytest.mark.asyncio
async def test_an_environment_that_was_built_anew_is_shown_as_it_is_now(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    before = built(tmp_path / "one", "before")
    assert await shown(sandbox, before) == "before"
    await full(sandbox)
    (tmp_path / "one").rename(tmp_path / "away")
    assert await shown(sandbox, built(tmp_path / "one", "after")) == "after"


@pytest.mark.slow
@pytest.mark.asyncio
async def test_of_many_environments_those_that_were_asked_for_last_stand_ready(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    many = [built(tmp_path / str(number), str(number)) for number in range(KINDS_MAX + 2)]
    for equipment in many:
        assert await shown(sandbox, equipment) == equipment.name
    kept = [shape.mounts[0].source.name for shape, _ in sandbox._pool.boxes]
    assert kept == [equipment.name for equipment in many[-KINDS_MAX:]]
