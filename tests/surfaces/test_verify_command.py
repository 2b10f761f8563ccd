"""Does judging by hand end with its answer, and with no answer where there is none? What does it leave behind?"""

import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from earnest.foundation.errors import Broken, Unavailable

from .conftest import EXAMPLES, Earnest

SPEC = EXAMPLES / "verify" / "spec.yaml"
GOOD, BAD = SPEC.parent / "good", SPEC.parent / "bad"


def test_a_submission_is_verified_refuted_or_left_unclear(earnest: Earnest, tmp_path: Path) -> None:
    good, bad = earnest("verify", SPEC, GOOD), earnest("verify", SPEC, BAD)
    assert (good.code, bad.code) == (0, 1)
    assert "VERIFIED  sha256:" in good.out
    assert "NOTES.md has no heading 'Upgrading'" in bad.out
    (tmp_path / "release.json").symlink_to("/etc/passwd")
    unclear = earnest("verify", SPEC, tmp_path, "--json")
    assert (unclear.code, unclear.json["verdict"]) == (2, "unclear")


def test_an_archive_is_judged_like_the_folder_in_it(earnest: Earnest, tmp_path: Path) -> None:
    path = tmp_path / "good.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file in GOOD.iterdir():
            archive.add(file, file.name)
    assert earnest("verify", SPEC, path, "--json").json == earnest("verify", SPEC, GOOD, "--json").json


@pytest.mark.parametrize(
    "problem", [Unavailable("out of order"), Broken("out of order"), SystemExit(1), GeneratorExit("out of order")]
)
def test_what_has_no_answer_never_ends_like_work_that_was_refuted(
    problem: BaseException, earnest: Earnest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr("earnest.app.judging.open_for", fail)
    for arguments in [("verify", SPEC, BAD), ("verify", "--lint", SPEC), ("replay", "any")]:
        ended = earnest(*arguments)
        assert (ended.code, ended.out) == (3, ""), ended
        assert ended.err.startswith("earnest: ")


def test_verifying_leaves_nothing_behind_where_there_is_no_data_directory(earnest: Earnest, home: Path) -> None:
    judged = earnest("verify", SPEC, GOOD, "--json")
    assert (judged.code, "id" in judged.json) == (0, False)
    assert not home.exists()


def test_a_verdict_is_kept_if_asked_for_or_if_there_is_a_data_directory(earnest: Earnest, home: Path) -> None:
    first = earnest("verify", SPEC, GOOD, "--keep")
    assert first.out.splitlines()[-1].startswith("kept as ")
    assert home.stat().st_mode & 0o777 == 0o700
    second = earnest("verify", SPEC, BAD, "--json")
    replayed = earnest("replay", second.json["id"])
    assert (replayed.code, replayed.out.split()[0]) == (0, "agrees")
    assert "id" not in earnest("verify", SPEC, BAD, "--json", "--no-keep").json


def test_a_verdict_that_cannot_be_kept_stands_all_the_same(earnest: Earnest, home: Path) -> None:
    (home / "verdicts").mkdir(parents=True)
    (home / "verdicts" / "content").write_text("no folder")
    ended = earnest("verify", SPEC, GOOD)
    assert (ended.code, "the verdict is not kept" in ended.err) == (0, True)


@pytest.mark.slow
def test_lint_names_what_lets_worthless_work_pass(earnest: Earnest, tmp_path: Path, home: Path) -> None:
    assert earnest("verify", "--lint", SPEC).out == "every check that can be tried refuses worthless work\n"
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "format: earnest-spec-v1\ntitle: t\ntext: t\nacceptance: human\n"
        "criteria:\n  - {text: it is there, check: {kind: files, required: [a.txt]}}\n  - text: it is good\n",
        encoding="utf-8",
    )
    refused = earnest("verify", "--lint", spec)
    assert refused.code == 3
    assert refused.out == "note: C2: no check decides it: it waits for a person\n"
    assert refused.err.startswith(f"earnest: {spec}:6: C1: its check accepts empty files")
    listed = earnest("verify", "--lint", spec, "--json")
    assert (listed.code, listed.err) == (3, refused.err)
    assert [(one["criterion"], one["is_grave"]) for one in listed.json["complaints"]] == [("C1", True), ("C2", False)]
    assert not home.exists()


def test_a_spec_with_a_submission_or_a_lint_but_not_both(earnest: Earnest) -> None:
    for arguments in [("verify", SPEC), ("verify", "--lint", SPEC, GOOD)]:
        ended = earnest(*arguments)
        assert (ended.code, "--lint" in ended.err) == (3, True)


def test_many_submissions_are_judged_in_one_call_and_end_as_the_worst_of_them(earnest: Earnest, tmp_path: Path) -> None:
    (tmp_path / "release.json").symlink_to("/etc/passwd")
    all_of_them = earnest("verify", SPEC, GOOD, tmp_path, BAD, GOOD)
    assert all_of_them.code == 1
    assert [line.split()[0] for line in all_of_them.out.splitlines()] == [
        *("verified", "unclear", "not_verified", "verified")
    ]
    assert "NOTES.md has no heading 'Upgrading'" in all_of_them.out
    listed = earnest("verify", "--json", SPEC, GOOD, tmp_path)
    assert listed.code == 2
    assert [(one["submission"], one["verdict"]) for one in listed.json] == [
        (str(GOOD), "verified"),
        (str(tmp_path), "unclear"),
    ]
    missing = earnest("verify", SPEC, GOOD, tmp_path / "none")
    assert (missing.code, missing.out) == (3, "")


@pytest.mark.slow
def test_the_plain_forms_come_to_the_same_as_those_that_are_parsed(earnest: Earnest, home: Path) -> None:
    for words in [("--json",), ("--json", "--no-keep"), ("--no-keep",)]:
        assert earnest("verify", *words, SPEC, BAD) == earnest("verify", *words, "--", SPEC, BAD)
    assert not home.exists()
    for wrong in [("--jsn", SPEC, GOOD), (SPEC,), ("--keep", "--lint", SPEC, GOOD)]:
        ended = earnest("verify", *wrong)
        assert (ended.code, ended.out) == (3, "")


def _below(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in map(int, children) for each in (child, *_below(child))]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_judging_without_leaving_a_folder_or_a_process(number: signal.Signals, tmp_path: Path) -> None:
    for name in ("temporary", "work", "home"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "work" / "m.py").write_text("def f():\n    while True:\n        pass\n")
    (tmp_path / "test_m.py").write_text(
        "import unittest\nfrom m import f\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        f()\n"
    )
    (tmp_path / "spec.yaml").write_text(
        "format: earnest-spec-v1\ntitle: t\ntext: t\ncriteria:\n"
        "  - {text: t, check: {kind: unit_tests, module: m, tests: [test_m.py], limits: {wall_s: 60, cpu_s: 60}}}\n"
    )
    ctrl_c = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a job may have it ignored
    program = [sys.executable, "-c", f"{ctrl_c}; from earnest.surfaces.cli.main import main; main()"]
    variables = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "EARNEST_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        [*program, "verify", str(tmp_path / "spec.yaml"), str(tmp_path / "work")], env=variables, stderr=subprocess.PIPE
    ) as process:
        while not any(_is_busy(pid) for pid in _below(process.pid)):
            assert process.poll() is None
        left = _below(process.pid)
        process.send_signal(number)
        said = process.communicate()[1]
    assert (process.returncode, said) == (130, b"\nearnest: stopped\n")  # below the ^C of a terminal
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not [pid for pid in left if Path(f"/proc/{pid}/status").exists()]


def _is_busy(pid: int) -> bool:
    """True for a process in a box that has computed for half a second."""
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11]
        return int(ticks) > 50 and "test_m" not in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
