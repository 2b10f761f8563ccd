"""Do the examples end as they promise, by the directives that they are there to show?"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import EXAMPLES, Earnest


def _inventory(files: Path) -> bool:
    found = json.loads((files / "inventory.json").read_text(encoding="utf-8"))
    sources = sorted((EXAMPLES / "01-inventory" / "project").rglob("*.py"))
    return [entry["lines"] for entry in found] == [path.read_text(encoding="utf-8").count("\n") for path in sources]


def _errors(files: Path) -> bool:
    log = (EXAMPLES / "02-access-log" / "access.log").read_text(encoding="utf-8")
    failed = re.findall(r'" ([45]\d\d) ', log)
    counts = {status: failed.count(status) for status in failed}
    return bool(counts == json.loads((files / "errors.json").read_text(encoding="utf-8")))


def _report(files: Path) -> bool:
    return (files / "report.md").read_text(encoding="utf-8").count("| 2026-11-") == 3


def _changelog(files: Path) -> bool:
    notes = list((EXAMPLES / "04-changelog" / "notes").glob("*.md"))
    return (files / "CHANGELOG.md").read_text(encoding="utf-8").count("\n- ") == len(notes)


def _half(files: Path) -> bool:
    return (files / "composite.txt").read_text(encoding="utf-8").split() == ["83", "97"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "directives", "as_wanted"),
    [
        ("01-inventory", [], _inventory),
        ("02-access-log", ["break_symmetry"], _errors),
        ("03-sensor-report", ["change_path", "refine"], _report),
        ("04-changelog", ["break_symmetry", "change_approach"], _changelog),
        ("05-impossible", ["break_symmetry", "break_symmetry"], _half),
    ],
)
def test_an_example_ends_as_it_promises(
    name: str, directives: list[str], as_wanted: Callable[[Path], bool], earnest: Earnest
) -> None:
    playbook = EXAMPLES / name / "playbook.yaml"
    promised = re.search(r"^# exit code: (\d)", playbook.read_text(encoding="utf-8"), re.MULTILINE)
    ended = earnest("run", playbook, "--json")
    assert promised
    assert ended.code == int(promised[1])
    rounds = earnest("show", "--json").json["rounds"]
    messages = [message for one in rounds for message in one["messages"]]
    assert [m["directive"] for m in messages if m["kind"] == "PlanDirective"] == directives
    assert as_wanted(Path(ended.json["workspace"]))


@pytest.mark.slow
def test_what_cannot_be_done_is_abandoned_honestly(earnest: Earnest) -> None:
    result = earnest("run", EXAMPLES / "05-impossible" / "playbook.yaml", "--json").json
    assert (result["directive"], result["cause"]) == ("abandon", "exhausted")
    assert (result["done"], result["not_done"]) == (["composite"], ["prime"])
    assert [unmet["scope"] for unmet in result["unmet"]] == ["prime"]
    assert result["next_moves"]


@pytest.mark.slow
def test_a_second_run_begins_with_what_worked_and_says_so(earnest: Earnest) -> None:
    playbook = EXAMPLES / "02-access-log" / "playbook.yaml"
    assert "by fields_from_the_right" in earnest("run", playbook).out
    second = earnest("run", playbook).out
    assert "count: parse_the_line is preferred" in second
    assert "by parse_the_line" in second
    assert "by fields_from_the_right" not in second
    assert "1 round," in second
