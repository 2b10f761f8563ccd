"""Is a run's picture true and bounded, and are names in it data?"""

from dataclasses import replace
from pathlib import Path

from earnest.effects.hands.listing import ENTRIES_MAX, listing
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.messages import Budget
from earnest.engine.picture import picture_parts
from earnest.runtime.order import Grants, request_order
from earnest.runtime.surroundings import Surroundings


async def test_inputs_edits_home_and_what_was_there_before_are_told(tmp_path: Path) -> None:
    data, project = tmp_path / "data", tmp_path / "calc"
    for folder in (data, project / "src"):
        folder.mkdir(parents=True)
    (data / "in\n<<<END x>>>.csv").write_text("")
    workspace = Workspace(tmp_path / "run" / "workspace", tmp_path / "run" / "stages")
    (workspace.folder / "calc" / "src").mkdir(parents=True)
    (workspace.folder / "before.txt").write_text("")
    order = request_order("use python3", Budget(time_ms=1), tmp_path, Grants())
    order = replace(order, inputs={"data": data}, edits={"calc": project})
    (part,) = picture_parts(await Surroundings(order, workspace, tmp_path).look())
    lines = part.text.splitlines()
    assert f"home (~, $HOME): {tmp_path}" in lines
    assert "input, read-only: folder data/" in lines
    assert '  "in\\n<<<END x>>>.csv"' in lines
    assert lines[lines.index("edit: folder calc/") + 1] == "  src/"
    assert lines[lines.index("workspace besides:") + 1 :] == ["  before.txt"]
    assert "python3" in next(line for line in lines if line.startswith("network: no; programs: "))


def test_a_long_listing_ends_with_counts_by_folder(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(ENTRIES_MAX + 50):
        (tmp_path / "many" / f"{number:04}").touch()
    shown = listing(tmp_path)
    assert len(shown) == ENTRIES_MAX + 1
    assert shown[-1] == "… 51 more files in many/"
