"""Does the verifier of a running platform have what the operator set up, and distrust what disagreed with itself?"""

import json
from pathlib import Path

from earnest.app.platform import open_platform
from earnest.app.settings import read_settings
from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.verification.verdict import CriterionVerdict


async def _answers(home: Path, *checks: CheckSpec) -> list[CriterionVerdict]:
    """The verdicts on an empty piece of work, judged as the work of a run is."""
    work = home.parent / "work"
    work.mkdir()
    criteria = [Criterion(id=f"C{at}", text="it is so", check=check) for at, check in enumerate(checks)]
    async with open_platform(read_settings({"EARNEST_HOME": str(home)})) as platform:
        return list((await platform.verifier.verify(criteria, work)).criteria)


async def test_a_run_may_ask_the_probes_of_the_operator(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text(
        f'[probes.settings]\nkind = "file"\npath = "{home}/settings.toml"\nat_most = 86400\n', encoding="utf-8"
    )
    known, unknown = (CheckSpec(kind="probe", config={"probe": name}) for name in ("settings", "other"))
    assert [one.answer for one in await _answers(home, known, unknown)] == ["verified", "unclear"]


async def test_a_run_distrusts_what_disagreed_with_itself_when_judged_by_hand(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "verdicts").mkdir(parents=True)
    (home / "verdicts" / "distrusted.json").write_text(json.dumps({"files/1": "a verdict"}))
    (answer,) = await _answers(home, CheckSpec(kind="files", config={"required": ["a.txt"]}))
    assert (answer.answer, "disagree" in answer.reason) == ("unclear", True), answer
