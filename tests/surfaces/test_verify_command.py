"""Does judging by hand end with its answer, and with no answer where there is none? What does it leave behind?"""

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

    monkeypatch.setattr("earnest.app.readers.open_for", fail)
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
