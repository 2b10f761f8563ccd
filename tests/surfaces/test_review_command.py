"""Can somebody judge, decide and judge again by the command line, and does the decision count for that work alone?"""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.commands import program

SPEC = """format: earnest-spec-v1
title: Drawing
text: Draw the harbour.
acceptance: human
criteria:
  - text: there is a drawing
    check: {kind: files, required: [harbour.svg]}
  - text: it can be followed
    check: {kind: human, rubric: [{criterion: clear, points: 5}], threshold: 3}
  - text: it is beautiful
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EARNEST_HOME", str(tmp_path / "home"))
    (tmp_path / "spec.yaml").write_text(SPEC)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "harbour.svg").write_text("<svg/>")
    return folder


def earnest(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(program, words)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def verified(work: Path, code: int) -> list[dict[str, str]]:
    output = earnest("verify", str(work.parent / "spec.yaml"), str(work), "--json", code=code)
    criteria: list[dict[str, str]] = json.loads(output)["criteria"]
    return criteria


@pytest.mark.slow
def test_a_decision_given_by_hand_decides_the_same_work_and_no_other(work: Path) -> None:
    assert earnest("review", "list") == "nothing waits for a decision\n"
    waiting = verified(work, 2)
    assert [one["verdict"] for one in waiting] == ["verified", "unclear", "unclear"]
    named = [re.findall(r"rev_\w+", one["reason"])[0] for one in waiting[1:]]
    listed = earnest("review", "list").splitlines()
    assert [line.split()[0] for line in listed] == named

    shown = earnest("review", "show", named[0])
    for part in (str(work), "0 to 5", "machines  verified", "Drawing · C2: it can be followed"):
        assert part in shown

    first = earnest("review", "decide", named[0], "--score", "4", "--reason", "clear enough")
    assert earnest("review", "decide", named[0], "--score", "4", "--reason", "clear enough") == first
    earnest("review", "decide", named[1], "--approve", "--reason", "lovely")
    assert earnest("review", "list") == "nothing waits for a decision\n"
    assert len(earnest("review", "list", "--all", "--json").splitlines()) == 2

    decided = verified(work, 0)
    assert [one["reason"] for one in decided[1:]] == [
        "approved by local with 4 points: clear enough",
        "approved by local: lovely",
    ]
    (work / "harbour.svg").write_text("<svg> </svg>")
    verified(work, 2)
    assert len(earnest("review", "list").splitlines()) == 2


def test_what_does_not_fit_the_question_is_refused(work: Path) -> None:
    verified(work, 2)
    listed = earnest("review", "list").splitlines()
    for words, code in [
        (("rev_nothing", "--approve", "--reason", "x"), "review_unknown"),
        ((str(work), "--approve", "--reason", "x"), "review_unknown"),  # two reviews are about it
        ((listed[0].split()[0], "--approve", "--reason", "x"), "review_incomplete"),
        ((listed[1].split()[0], "--score", "3", "--reason", "x"), "review_incomplete"),
    ]:
        result = CliRunner().invoke(program, ["review", "decide", *words])
        assert isinstance(result.exception, Refused)
        assert result.exception.code == code
