"""The question about leave names what stands where the action would write, and shows what would become of it."""

import subprocess
from pathlib import Path

import pytest

from earnest.effects.hands.at_stake import TEXT_BYTES_MAX, at_stake
from earnest.engine.messages import ConfirmationAsked
from earnest.surfaces.leave import SHOWN_LINES_MAX, question_lines, shown_lines


def asked(path: Path, /, **args: str) -> ConfirmationAsked:
    return ConfirmationAsked(
        action="sha256:1",
        tool="write_file",
        args=args,
        wording=f"write_file {path} needs leave to write to {path}",
        paths=(str(path),),
        network=False,
        expires_at_ms=0,
    )


def test_a_file_that_would_be_replaced_is_named_with_size_age_and_whether_git_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one\n")
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    (told,) = (line for line in question_lines(asked(path)) if line.startswith("  write  "))
    assert told.startswith(f"  write  {path}  (a file of 4 bytes, changed 20")
    assert told.endswith(", not in git, `earnest undo` can bring it back)")
    subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
    assert any(", git knows it, " in line for line in question_lines(asked(path)))
    monkeypatch.setenv("PATH", "")
    assert any(", not in git, " in line for line in question_lines(asked(path))), "nobody can tell"


def test_a_folder_tells_how_much_lies_below_it_and_no_link_is_followed(tmp_path: Path) -> None:
    for name in ("a/b.txt", "a/c/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    stake = at_stake(tmp_path / "a")
    assert stake is not None
    assert stake.files == 2
    (told,) = (line for line in question_lines(asked(tmp_path / "a")) if line.startswith("  write  "))
    assert "(a folder of 2 files, " in told


def test_the_digest_is_kept_and_not_shown(tmp_path: Path) -> None:
    lines = "\n".join(question_lines(asked(tmp_path / "new")))
    assert "sha256" not in lines
    assert "(nothing is there)" in lines


def test_show_gives_the_arguments_whole_and_the_difference_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one\ntwo\n")
    lines = shown_lines(asked(path, path=str(path), content="one\nthree\x1b[2J\n"))
    assert "-two" in lines
    assert "+three\\x1b[2J" in lines
    assert f"  path: {path}" in lines
    assert all(line.isprintable() for line in lines)


def test_what_is_shown_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_text("x" * (TEXT_BYTES_MAX + 1))
    stake = at_stake(path)
    assert stake is not None
    assert stake.text is None
    lines = shown_lines(asked(path, content="line\n" * 10_000))
    assert len(lines) <= SHOWN_LINES_MAX + 3
    assert "lines more" in lines[-2]
