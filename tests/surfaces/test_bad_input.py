"""Is whatever a user can get wrong answered with a message, exit code 3 and nothing changed?"""

import os
import re
import sqlite3
from pathlib import Path

import pytest

from .conftest import EXAMPLES, PLAYBOOK, Earnest, Ended, files_of

MANY = "\n".join(
    f"  - {{id: s{number}, intent: x, criteria: [{{text: t, check: {{kind: files, required: [a]}}}}], "
    f"approaches: [{{id: a, steps: [{{tool: glob, args: {{pattern: '*'}}}}]}}]}}"
    for number in range(10_000)
)


def _refused(ended: Ended, *words: str) -> None:
    """No answer, a message with these words, and no traceback."""
    assert ended.code == 3, ended
    assert ended.out == ""
    assert all(line.startswith("earnest: ") for line in ended.err.splitlines()), ended.err
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err, ended.err


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("intent: Write a file", "intent: [Write", 2, "is not closed"),
        ("intent: Write a file", "intent: *other", 2, "anchors and aliases"),
        ("task_class:", "taskclass:", 3, "did you mean 'task_class'"),
        ("required: [a.txt]", "requird: [a.txt]", 9, "required"),
        (", required: [a.txt]", "", 9, "required"),
        ("kind: files, required: [a.txt]", "kind: file", 9, "'file'"),
        ("        check: {kind: files, required: [a.txt]}\n", "", 8, "needs a check"),
        ("    intent: Write a.txt", "    sequence: 0\n    intent: x", 6, "must be 1 to 200, is 0"),
        ("    intent: Write a.txt", "    after: [write]\n    intent: x", 5, "write after write"),
        ("    intent: Write a.txt", "    after: [wrote]\n    intent: x", 5, "'wrote', which is no subtask"),
        ("tool: write_file", "tool: write", 12, "unknown tool 'write'"),
        ("path: a.txt, ", "", 12, "path"),
        ("subtasks:", "inputs: {data: ./nowhere}\nsubtasks:", 4, "no such file or folder"),
        ("format: earnest-playbook-v1", "format: earnest-playbook-v9", 1, "earnest-playbook-v1"),
    ],
)
def test_a_fault_in_a_playbook_is_named_with_its_file_and_line(
    old: str, new: str, line: int, words: str, earnest: Earnest, home: Path, playbook: Path
) -> None:
    assert old in PLAYBOOK
    playbook.write_text(PLAYBOOK.replace(old, new, 1), encoding="utf-8")
    _refused(earnest("run", playbook), f"{playbook}:{line}: ", words)
    assert not home.exists()


def test_arguments_that_are_no_mapping_are_one_fault(earnest: Earnest, playbook: Path) -> None:
    playbook.write_text(PLAYBOOK.replace("args: {path: a.txt, content: done}", "args: a.txt"), encoding="utf-8")
    assert earnest("run", playbook).err.splitlines() == [
        f"earnest: {playbook}:12: subtasks[0].approaches[0].steps[0].args: must be a mapping"
    ]


def test_every_fault_of_a_playbook_is_told_at_once(earnest: Earnest, playbook: Path) -> None:
    playbook.write_text(
        PLAYBOOK.replace("tool: write_file", "tool: x").replace("id: write", "id: W!"), encoding="utf-8"
    )
    assert len(earnest("run", playbook).err.splitlines()) >= 3


def test_an_empty_host_is_not_the_whole_world(earnest: Earnest, home: Path) -> None:
    _refused(earnest("serve", "--host", "", "--port", "0"), "--host must be a name or address")
    assert not home.exists()


@pytest.mark.slow
def test_ten_thousand_subtasks_are_too_many(earnest: Earnest, playbook: Path) -> None:
    playbook.write_text(f"{PLAYBOOK.partition('subtasks:')[0]}subtasks:\n{MANY}\n", encoding="utf-8")
    _refused(earnest("run", playbook), "must have 1 to 200 items, has 10000")


@pytest.mark.parametrize("command", [("run",), ("verify",)])
@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.yaml", "No such file"), (".", "Is a directory"), ("/proc/self/mem", "Input/output error")],
)
def test_what_cannot_be_read_is_named(
    command: tuple[str], name: str, words: str, earnest: Earnest, tmp_path: Path
) -> None:
    path = tmp_path / name
    more = (tmp_path,) if command == ("verify",) else ()
    _refused(earnest(*command, f"{path}/" if name == "." else path, *more), words)


@pytest.mark.parametrize("command", ["run", "verify"])
def test_a_file_without_an_end_is_not_read_to_its_end(command: str, earnest: Earnest, tmp_path: Path) -> None:
    more = (tmp_path,) if command == "verify" else ()
    _refused(earnest(command, "/dev/zero", *more), "/dev/zero: larger than")


def test_a_submission_that_is_no_folder_is_named(earnest: Earnest, tmp_path: Path) -> None:
    _refused(earnest("verify", EXAMPLES / "verify" / "spec.yaml", tmp_path / "none"), "none: no such folder")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run",), "give either a TASK or --resume RUN"),
        (("run", "a.yaml", "--resume", "run_1"), "give either"),
        (("run", "a.yaml", "--max-calls", "3"), "are for a task in words"),
        (("run", "tidy up", "--max-cost", "0.0000001"), "with at most 6 decimals"),
        (("run", "tidy up", "--max-cost", "nan"), "is no amount"),
        (("run", "tidy up", "--max-cost", "1e99"), "is no amount"),
        (("run", "tidy up", "--max-cost", "1e999999"), "is no amount"),
        (("run", "tidy up", "--max-time", "0"), "--max-time"),
        (("run", "--fast", "a.yaml"), "No such option '--fast'"),
        (("dance",), "No such command 'dance'"),
        (("show", "a", "b"), "unexpected extra argument"),
        (("runs", "--limit", "0"), "--limit"),
        (("audit", "tail", "-n", "many"), "--number"),
        (("memory", "query", "anything"), "must have the form kind:name"),
    ],
)
def test_bad_usage_is_explained(arguments: tuple[str, ...], words: str, earnest: Earnest, home: Path) -> None:
    ended = earnest(*arguments)
    _refused(ended, words, "--help`")
    assert not home.exists()


@pytest.mark.parametrize("arguments", [(), ("audit",), ("memory",), ("journal",)])
def test_a_group_without_a_command_shows_its_help(arguments: tuple[str, ...], earnest: Earnest) -> None:
    ended = earnest(*arguments)
    assert ended.code == 3
    assert ended.err.startswith("Usage: earnest")
    assert ended.out == ""


READING = [
    ("show",),
    ("show", "run_1"),
    ("audit", "report"),
    ("audit", "tail"),
    ("audit", "calibrate"),
    ("memory", "show"),
    ("memory", "query", "intent:x"),
    ("memory", "forget", "x"),
    ("journal", "verify"),
]


@pytest.mark.parametrize("arguments", READING)
@pytest.mark.parametrize("there", [False, True])
def test_reading_an_empty_data_directory_says_so_and_leaves_it_empty(
    arguments: tuple[str, ...], there: bool, earnest: Earnest, home: Path
) -> None:
    if there:
        home.mkdir()
    _refused(earnest(*arguments), "there is no")
    assert home.exists() == there
    assert files_of(home) == {}


@pytest.mark.parametrize(
    "arguments", [("run", EXAMPLES / "02-access-log" / "playbook.yaml"), ("runs",), ("doctor",), *READING]
)
def test_a_home_that_is_a_file_is_named(arguments: tuple[object, ...], earnest: Earnest, home: Path) -> None:
    home.write_text("mine", encoding="utf-8")
    _refused(earnest(*arguments), "EARNEST_HOME", "is not a folder")
    assert home.read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_a_home_that_cannot_be_made_is_named(earnest: Earnest, playbook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARNEST_HOME", "/proc/earnest")
    _refused(earnest("run", playbook), "/proc/earnest")
    assert earnest("doctor").code == 1


@pytest.mark.slow
def test_a_run_that_is_not_there_is_refused(earnest: Earnest, worked: Path) -> None:
    _refused(earnest("run", "--resume", "run_1"), "there is no run run_1")
    _refused(earnest("show", "zzz"), "there is no run zzz")


def test_a_run_that_has_ended_is_not_resumed(earnest: Earnest, worked: Path) -> None:
    _refused(earnest("run", "--resume", earnest("show", "--json").json["run"]), "has ended")


@pytest.mark.slow
def test_a_run_is_worked_beside_a_writer(earnest: Earnest, worked: Path, playbook: Path) -> None:
    from earnest.effects.ground.clock import SystemClock
    from earnest.effects.ground.storage.database import Database

    writer = Database.open(worked / "books.sqlite3", SystemClock())
    try:
        assert earnest("run", playbook, "--new").code == 0
        _refused(earnest("memory", "rebuild"), f"pid {os.getpid()}; this needs it alone")
    finally:
        writer.close()


@pytest.mark.slow
def test_beside_who_has_the_home_alone_a_writer_is_told_who_that_is_and_readers_are_let_in(
    earnest: Earnest, worked: Path, playbook: Path
) -> None:
    from earnest.effects.ground.clock import SystemClock
    from earnest.effects.ground.storage.database import Database

    writer = Database.open(worked / "books.sqlite3", SystemClock(), alone=True)
    try:
        before = files_of(worked / "runs")
        _refused(earnest("run", playbook), str(os.getpid()))
        assert files_of(worked / "runs") == before
        for arguments in (
            ("runs",),
            ("show",),
            ("memory", "show"),
            ("memory", "query", "intent:access_log_report"),
            ("audit", "report"),
            ("audit", "tail"),
            ("journal", "verify"),
        ):
            ended = earnest(*arguments)
            assert (ended.code, ended.err) == (0, ""), arguments
            assert ended.out
    finally:
        writer.close()


def _books(home: Path) -> Path:
    """The database, alone: what a copy on a USB stick would be."""
    path = home / "books.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"this is no database" * 500, b""])
def test_a_damaged_database_is_named_and_left_as_it_is(content: bytes, earnest: Earnest, worked: Path) -> None:
    path = _books(worked)
    path.write_bytes(content)
    for arguments in (("runs",), ("show",)):
        _refused(earnest(*arguments), "database")
    verified = earnest("journal", "verify")
    assert (verified.code, verified.err) == (1, "")
    assert str(path) in verified.out, "it names the place"
    doctor = earnest("doctor")
    assert doctor.code == 1
    assert re.search(r"^BAD  books", doctor.out, re.MULTILINE)
    assert path.read_bytes() == content


def test_a_database_that_is_damaged_within_is_never_called_intact(earnest: Earnest, worked: Path) -> None:
    path = _books(worked)
    content = bytearray(path.read_bytes())
    middle = slice(len(content) // 2, len(content) - 4096)
    content[middle] = b"\xa5" * len(content[middle])
    path.write_bytes(content)
    for arguments in (("runs",), ("show",), ("journal", "verify")):
        ended = earnest(*arguments)
        assert ended.code in ({1, 3} if arguments[0] == "journal" else {0, 3})
        assert "fault of earnest" not in ended.err


def test_a_tampered_fact_is_named(earnest: Earnest, worked: Path) -> None:
    connection = sqlite3.connect(worked / "books.sqlite3")
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE facts SET at_ms = at_ms + 1 WHERE seq = 7")
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()
    ended = earnest("journal", "verify")
    assert ended.code == 1
    assert "fact 7: " in ended.out
    assert "NOT INTACT" in ended.out
    assert [found["first_seq"] for found in earnest("journal", "verify", "--json").json["findings"]] == [7]


def test_a_damaged_line_of_the_audit_log_is_shown_as_such(earnest: Earnest, worked: Path) -> None:
    log = worked / "audit" / "audit.jsonl"
    lines = log.read_bytes().splitlines()
    lines[-3], lines[-2] = lines[-3].replace(b'"seq"', b'"sea"'), b"\x1b[2Jnot \xff JSON"
    log.write_bytes(b"\n".join(lines) + b"\n")
    tail = earnest("audit", "tail", "-n", "4")
    assert tail.code == 0
    assert tail.out.count("DAMAGED") == 2
    assert "\x1b" not in tail.out
    assert "log_broken" in earnest("audit", "report").out
    assert earnest("audit", "tail", "--json").code == 0


def test_a_damaged_end_of_the_audit_log_stops_a_run_before_anything_is_done(
    earnest: Earnest, worked: Path, playbook: Path
) -> None:
    log = worked / "audit" / "audit.jsonl"
    log.write_bytes(log.read_bytes() + b"damaged\n")
    before = files_of(worked / "runs")
    _refused(earnest("run", playbook), "the last line of", "move it away")
    assert files_of(worked / "runs") == before


def test_settings_that_are_wrong_stop_every_command(earnest: Earnest, home: Path, playbook: Path) -> None:
    home.mkdir()
    (home / "settings.toml").write_text("parallel_subtasks = 4\nsilence = 3\n", encoding="utf-8")
    for arguments in (("run", playbook), ("runs",), ("show",), ("doctor",)):
        _refused(earnest(*arguments), "settings.toml:2: there is no 'silence'; did you mean 'silence_s'?")


def test_what_is_complained_about_cannot_steer_the_terminal(
    earnest: Earnest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EARNEST_HOME", str(tmp_path / "\x1b[31mred"))
    ended = earnest("show")
    assert "\x1b" not in ended.err
    assert "\\x1b[31mred" in ended.err


def test_a_missing_option_is_told_with_its_choices_in_one_line(earnest: Earnest) -> None:
    _refused(earnest("keys", "new"), "Missing option '--scope'. Choose from: live, hb\n")
