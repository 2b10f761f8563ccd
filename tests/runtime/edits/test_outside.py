"""Can what a run changed outside its workspace, with leave, be had back whole?"""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from earnest.app.model_settings import ModelSettings
from earnest.app.platform import open_platform
from earnest.app.settings import Settings
from earnest.effects.hands.edits import preimage
from earnest.effects.hands.edits.original import Original
from earnest.engine.messages import Budget
from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Refused, Unavailable
from earnest.runtime.edits.outside import Preimages, changed_outside, told_outside
from earnest.runtime.order import Grants, request_order
from earnest.testing.model_server import ModelServer, answers, by_prompt

from .scene import RUN, Scene, content, lay_out

BUDGET = Budget(time_ms=60_000, tokens=10**6, model_calls=50, cost_micro=None)
FILES = {"a.txt": "alpha\n", "deep/b.txt": "beta\n", "deep/er/c.txt": "gamma\n", "d.bin": "\0\1"}
CHECKED: dict[str, Any] = {"text": "done.txt is there", "check": {"kind": "files", "required": ["done.txt"]}}
PLAN = {
    "task_criteria": [CHECKED],
    "subtasks": [{"sequence": 1, "intent": "Tidy up", "context": "", "criteria": [CHECKED]}],
    "rules": [],
}


@pytest.fixture
def dear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's that a run may write to."""
    home = tmp_path / "user"
    lay_out(home / "dear", FILES)
    (home / "dear/a.txt").chmod(0o640)
    monkeypatch.setenv("HOME", str(home))
    return home / "dear"


def settings_at(dear: Path, server: ModelServer | None = None) -> Settings:
    models = ModelSettings(base_url=server.base_url, default="scripted") if server else ModelSettings()
    return Settings(home=dear.parent.parent / "books", models=models)


async def worked(dear: Path, *commands: str) -> str:
    """A run whose executor makes these command lines, with leave for the folder; its id."""
    writes: list[JsonValue] = [str(dear)]
    calls: list[JsonValue] = [{"tool": "shell", "args": {"command": command}, "writes": writes} for command in commands]
    script = by_prompt(
        perceiver=answers({"kind": "task", "intent": "Tidy up", "task_class": "tidy"}),
        planner=answers(PLAN),
        executor=[
            answers({"calls": [*calls, {"tool": "shell", "args": {"command": "touch done.txt"}}]}),
            answers({"done": {"status": "completed", "output": "tidy"}}),
        ],
        graceful=answers({"summary": "no", "next_moves": []}),
    )
    async with ModelServer(script) as server, open_platform(settings_at(dear, server)) as platform:
        grants = Grants(write=(dear,))
        run_id = await platform.runs.begin(request_order("tidy up", BUDGET, dear.parent, grants))
        await asyncio.wait_for(platform.runs.work(run_id), 60)
    return run_id


async def undo(dear: Path, run_id: str) -> list[tuple[str, Path]]:
    """What was put back, and how."""
    async with open_platform(settings_at(dear)) as platform:
        return list(told_outside(await platform.edits.undo(run_id)))


@pytest.mark.slow
async def test_what_several_calls_changed_and_deleted_is_put_back_as_it_was_before_the_first(dear: Path) -> None:
    before = content(dear)
    run_id = await worked(
        dear,
        f"cd {dear} && echo worse > a.txt && chmod 600 a.txt && rm -r deep && mkdir new && echo n > new/n.txt",
        f"cd {dear} && echo worst > a.txt && rm d.bin && echo twice >> new/n.txt",
    )
    assert content(dear) == {"dear/a.txt": ("worst\n", 0o600), "dear/new/n.txt": ("n\ntwice\n", 0o644)}
    told = await undo(dear, run_id)
    assert content(dear) == before
    assert not (dear / "new").exists()
    assert ("changed", dear / "a.txt") in told
    assert ("added", dear / "deep/er/c.txt") in told
    assert ("removed", dear / "new/n.txt") in told
    with pytest.raises(Refused, match="not applied"):
        await undo(dear, run_id)


@pytest.mark.slow
async def test_what_somebody_changed_since_is_named_and_nothing_is_put_back(dear: Path) -> None:
    run_id = await worked(dear, f"cd {dear} && echo worse > a.txt && rm d.bin")
    (dear / "a.txt").write_text("mine\n")
    before = content(dear)
    with pytest.raises(Refused, match=r"a\.txt") as refused:
        await undo(dear, run_id)
    assert refused.value.code == "edit_conflict"
    assert content(dear) == before


async def test_a_run_that_changed_nothing_outside_has_nothing_to_take_back(dear: Path) -> None:
    run_id = await worked(dear, f"cat {dear}/a.txt")
    with pytest.raises(Refused, match="changed nothing else"):
        await undo(dear, run_id)


@pytest.mark.slow
async def test_a_disk_that_fails_halfway_leaves_all_as_the_run_left_it(
    dear: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await worked(dear, f"cd {dear} && echo worse > a.txt && rm -r deep d.bin")
    left = content(dear)
    brings = Original._bring

    def fails(self: Original, at: int, step: Any) -> None:
        if step.path == "deep/er/c.txt":
            raise OSError(5, "Input/output error")
        brings(self, at, step)

    with monkeypatch.context() as failing:
        failing.setattr(Original, "_bring", fails)
        with pytest.raises(Unavailable):
            await undo(dear, run_id)
    assert content(dear) == left
    await undo(dear, run_id)
    assert (dear / "deep/er/c.txt").read_text() == "gamma\n"


@pytest.mark.slow
async def test_a_killed_process_leaves_an_undo_that_the_next_one_completes(
    dear: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(dear)
    run_id = await worked(dear, f"cd {dear} && echo worse > a.txt && rm -r deep d.bin")

    class Killed(BaseException):
        """Nobody catches it."""

    brings = Original._bring

    def dies(self: Original, at: int, step: Any) -> None:
        if step.path == "deep/er/c.txt":
            raise Killed
        brings(self, at, step)

    with monkeypatch.context() as dying:
        dying.setattr(Original, "_bring", dies)
        with pytest.raises(Killed):
            await undo(dear, run_id)
    async with open_platform(settings_at(dear)):
        pass
    assert content(dear) == before


async def test_of_more_than_is_kept_nothing_is_put_back_and_the_run_works_all_the_same(
    dear: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preimage, "BYTES_MAX", 8)
    run_id = await worked(dear, f"rm {dear}/a.txt")
    assert not (dear / "a.txt").exists()
    with pytest.raises(Refused, match="changed nothing else"):
        await undo(dear, run_id)


async def test_of_a_call_that_a_crash_cut_off_what_stands_there_now_is_what_it_left(dear: Path, tmp_path: Path) -> None:
    kept = Preimages(tmp_path / "undo", run_id=RUN, home=dear.parent, ours=tmp_path / "books")
    kept.keep("r1/s1/a1/c1", [dear])
    (dear / "a.txt").write_text("half\n")
    kept.keep("r1/s1/a1/c1", [dear])  # the call is made again
    with closing(Scene(home=tmp_path, original=dear).open()) as database:
        parts, _ = await database.read(lambda reader: changed_outside(reader, RUN, tmp_path / "undo"))
    assert list(told_outside(parts)) == [("changed", dear / "a.txt")]


async def test_a_link_that_a_call_made_is_named_and_stays(dear: Path) -> None:
    run_id = await worked(dear, f"cd {dear} && ln -s a.txt link && rm d.bin")
    with pytest.raises(Refused, match="link") as refused:
        await undo(dear, run_id)
    assert refused.value.code == "edit_link"
    assert not (dear / "d.bin").exists()
