"""Do the commands answer in words and in JSON, with the exit codes that are documented?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import EXAMPLES, PLAYBOOK, Earnest

COMMANDS = [
    (),
    ("chat",),
    ("run",),
    ("runs",),
    ("show",),
    ("verify",),
    ("replay",),
    ("doctor",),
    ("audit",),
    ("audit", "report"),
    ("audit", "tail"),
    ("audit", "verify"),
    ("audit", "calibrate"),
    ("dream",),
    ("memory",),
    ("memory", "show"),
    ("memory", "query"),
    ("memory", "remember"),
    ("memory", "forget"),
    ("memory", "rebuild"),
    ("memory", "persona"),
    ("memory", "persona", "show"),
    ("memory", "persona", "set"),
    ("review",),
    ("review", "list"),
    ("review", "show"),
    ("review", "decide"),
    ("journal",),
    ("journal", "verify"),
]
MOSTLY = PLAYBOOK.replace(
    "      - text: a.txt is there\n        check: {kind: files, required: [a.txt]}\n",
    "".join(
        f"      - {{text: {word}, check: {{kind: files, required: [{{path: a.txt, regex: {word}}}]}}}}\n"
        for word in ("one", "two", "three", "four")
    ),
).replace("content: done", "content: one two three")
PROGRAM = Path(sys.executable).with_name("earnest")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: tuple[str, ...], earnest: Earnest, home: Path) -> None:
    ended = earnest(*command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: {' '.join(('earnest', *command))} ")
    assert not home.exists()


def test_the_version_is_told(earnest: Earnest) -> None:
    from earnest import __version__

    assert earnest("--version").out == f"earnest {__version__}\n"


def test_a_failed_step_shows_the_end_of_what_it_put_out(earnest: Earnest, tmp_path: Path) -> None:
    step = "{tool: shell, args: {command: 'for day in 1 2 3 4; do echo day $day >&2; done; exit 3'}}"
    playbook = tmp_path / "fails.yaml"
    playbook.write_text(PLAYBOOK.replace("{tool: write_file, args: {path: a.txt, content: done}}", step))
    told = earnest("run", playbook).out
    assert "exit code 3: day 4" in told
    assert [day in told for day in ("day 1\n", "day 2\n", "day 3\n", "day 4\n")] == [False, True, True, True]


def test_no_runs_yet_is_no_failure(earnest: Earnest, home: Path) -> None:
    assert earnest("runs").out == "no runs yet; try `earnest run PLAYBOOK`\n"
    assert (earnest("runs", "--json").out, earnest("runs").code) == ("", 0)
    assert not home.exists()


@pytest.mark.parametrize(
    ("text", "code", "directive", "word"),
    [
        (PLAYBOOK, 0, "accept", "ACCEPTED"),
        (MOSTLY, 2, "success", "DELIVERED, with unmet criteria"),
        (PLAYBOOK.replace("required: [a.txt]", "required: [b.txt]"), 1, "abandon", "ABANDONED"),
    ],
)
def test_a_run_ends_with_the_exit_code_of_its_result(
    text: str, code: int, directive: str, word: str, earnest: Earnest, playbook: Path
) -> None:
    playbook.write_text(text, encoding="utf-8")
    machine = earnest("run", playbook, "--json")
    assert (machine.code, machine.err) == (code, "")
    assert (machine.json["exit_code"], machine.json["directive"]) == (code, directive)
    assert Path(machine.json["workspace"]).is_dir()
    person = earnest("run", playbook, "--quiet", "--new")
    assert person.code == code
    assert person.out.lstrip().startswith(word)


def test_a_step_that_was_not_allowed_ends_the_run_and_says_how_to_allow_it(
    earnest: Earnest, tmp_path: Path, playbook: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    steps = f"[{{tool: shell, args: {{command: touch {outside}/x && touch a.txt}}, writes: [{outside}]}}]"
    text = PLAYBOOK.replace("[{tool: write_file, args: {path: a.txt, content: done}}]", steps)
    playbook.write_text(text, encoding="utf-8")
    refused = earnest("run", playbook, "--quiet")
    assert refused.code == 1
    assert "--allow-write PATH" in refused.out
    assert list(outside.iterdir()) == []
    assert earnest("run", playbook, "--quiet", "--allow-write", outside).code == 0
    assert [path.name for path in outside.iterdir()] == ["x"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("audit", "report"),
        ("journal", "verify"),
        ("doctor",),
        ("memory", "query", "intent:access_log_report"),
    ],
)
def test_json_is_one_object_and_nothing_else(arguments: tuple[str, ...], earnest: Earnest, worked: Path) -> None:
    ended = earnest(*arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert isinstance(ended.json, dict)
    assert ended.out.isascii()


@pytest.mark.slow
@pytest.mark.usefixtures("tested_home")
def test_a_playbook_is_worked_without_what_asks_models_or_draws_on_terminals(playbook: Path) -> None:
    arguments = ["earnest", "run", str(playbook), "--json"]
    program = (
        f"import sys; sys.argv = {arguments!r}\n"
        "from earnest.surfaces.cli.main import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.split()
    assert "earnest.engine.playbook" in loaded
    unwanted = (
        "earnest.engine.model.",
        "earnest.effects.outside.llm.openai",
        "earnest.verification.records.",
        "earnest.surfaces.cli.screen",
        "openai",
    )
    assert [name for name in loaded if name.startswith(unwanted)] == []


@pytest.mark.parametrize("arguments", [("runs",), ("audit", "tail"), ("memory", "show")])
def test_json_of_a_list_is_one_object_a_line(arguments: tuple[str, ...], earnest: Earnest, worked: Path) -> None:
    ended = earnest(*arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert all(isinstance(json.loads(line), dict) for line in ended.out.splitlines())
    assert len(earnest(*arguments).out.splitlines()) >= len(ended.out.splitlines()) >= 1


def test_a_run_is_shown_by_the_beginning_of_its_id_and_the_newest_by_none(earnest: Earnest, worked: Path) -> None:
    run = earnest("show", "--json").json["run"]
    assert earnest("show").out == earnest("show", run).out == earnest("show", run.removeprefix("run_")[:20]).out


def test_a_run_is_shown_with_its_rounds_evidence_verdicts_and_lessons(earnest: Earnest, worked: Path) -> None:
    shown = earnest("show").out
    for part in (
        "round 1\n",
        "1. count by fields_from_the_right: Count failing requests by status",
        "changed: errors.json",
        "✗ the counts add up to the number of failed requests in the log",
        "the command ended with exit code 1 instead of 0",
        "→ break_symmetry",
        "blocked: fields_from_the_right for count",
        "round 2\n",
        "✓ errors.json counts the requests of each failing status",
        "remembered:",
        "ACCEPTED",
    ):
        assert part in shown


def test_the_beginning_of_several_ids_is_refused(earnest: Earnest, worked: Path, playbook: Path) -> None:
    earnest("run", playbook, "--quiet")
    assert "2 runs begin with run_" in earnest("show", "run_").err


def test_an_entry_is_forgotten_for_good(earnest: Earnest, worked: Path) -> None:
    first = json.loads(earnest("memory", "show", "--json").out.splitlines()[0])["id"]
    assert earnest("memory", "forget", first).out == f"forgotten: {first}\n"
    assert first not in earnest("memory", "show").out
    again = earnest("memory", "forget", first)
    assert (again.code, again.out) == (3, "")
    assert "there is no entry" in again.err


def test_a_space_in_which_nothing_is_remembered_says_so(earnest: Earnest, worked: Path) -> None:
    assert earnest("memory", "show", "intent:nothing").out == "nothing is remembered under intent:nothing\n"
    assert earnest("memory", "query", "intent:nothing").out.startswith("ignore")


def test_without_bubblewrap_the_doctor_says_so_and_what_runs_code_is_unclear(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earnest.effects.hands.sandbox.available.binaries", tuple)
    doctor = earnest("doctor", "--json")
    assert doctor.code == 1
    assert doctor.json["sandbox"]["well"] is False
    assert "there is no bubblewrap" in doctor.json["sandbox"]["detail"]
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "format: earnest-spec-v1\ntitle: t\ntext: t\n"
        "criteria: [{text: it runs, check: {kind: stdout, program: [python3, a.py], cases: [{expected: ''}]}}]\n",
        encoding="utf-8",
    )
    (tmp_path / "handed_in").mkdir()
    ended = earnest("verify", spec, tmp_path / "handed_in", "--json")
    assert (ended.code, ended.json["verdict"]) == (2, "unclear"), ended


def test_text_from_outside_cannot_steer_the_terminal(earnest: Earnest, playbook: Path) -> None:
    playbook.write_text(
        PLAYBOOK.replace("intent: Write a file", r'intent: "\x1b[31mred\x07\x9b1m"')
        .replace("required: [a.txt]", "required: [b.txt]")
        .replace(
            "tool: write_file, args: {path: a.txt, content: done}",
            r'tool: shell, args: {command: "printf \x27\\033[2J\x27 >&2; false"}',
        ),
        encoding="utf-8",
    )
    told = [
        earnest("run", playbook),
        earnest("show"),
        earnest("runs"),
        earnest("audit", "tail"),
        earnest("memory", "show"),
    ]
    for ended in told:
        assert set("\x1b\x07\x9b").isdisjoint(ended.out + ended.err)
    assert "\\x1b[31mred" in told[0].out


def _environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "EARNEST_HOME": str(home), **more}


@pytest.mark.slow
def test_a_pipe_gets_no_escape_codes_and_no_status_line(tested_home: Path) -> None:
    command: list[str | Path] = [PROGRAM, "run", EXAMPLES / "02-access-log" / "playbook.yaml"]
    done = subprocess.run(
        command, env=_environment(tested_home, TERM="xterm-256color"), capture_output=True, check=True
    )
    assert b"\x1b" not in done.stdout
    assert b"deciding" not in done.stdout
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("runs",),
        ("show",),
        ("audit", "tail"),
        ("memory", "show", "--json"),
        ("--help",),
        ("--version",),
        ("run", "--help"),
    ],
)
def test_a_reader_that_goes_away_is_no_failure_to_talk_about(arguments: tuple[str, ...], worked: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        done = subprocess.run([PROGRAM, *arguments], env=_environment(worked), stdout=nobody, stderr=-1, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_whatever_is_closed_a_command_works(closed: str, tested_home: Path, playbook: Path, earnest: Earnest) -> None:
    command: list[str | Path] = ["sh", "-c", f'"$0" "$@" {closed}', PROGRAM, "run", "--quiet", playbook]
    done = subprocess.run(command, env=_environment(tested_home), capture_output=True, check=True)
    assert done.stderr == b""
    assert earnest("journal", "verify", "--json").json["intact"]


@pytest.mark.slow
def test_a_run_is_finished_though_nobody_listens(tested_home: Path, playbook: Path, earnest: Earnest) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        done = subprocess.run(
            [PROGRAM, "run", playbook], env=_environment(tested_home), stdout=nobody, stderr=-1, check=False
        )
    assert done.stderr == b""
    assert earnest("show", "--json").json["status"] == "accept"


@pytest.mark.slow
def test_a_terminal_without_unicode_gets_escapes(worked: Path) -> None:
    environment = _environment(worked, PYTHONIOENCODING="ascii")
    done = subprocess.run([PROGRAM, "show"], env=environment, capture_output=True, check=True)
    assert b"\\u2713" in done.stdout


def test_the_word_of_an_unknown_fault_comes_without_a_traceback_unless_asked_for(
    earnest: Earnest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr("earnest.app.settings.read_settings", fail)
    ended = earnest("runs")
    assert (ended.code, ended.out) == (3, "")
    assert "surprise" in ended.err
    assert "Traceback" not in ended.err
    monkeypatch.setenv("EARNEST_DEBUG", "1")
    assert "Traceback" in earnest("runs").err
