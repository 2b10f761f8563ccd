"""Does any text at all keep the promises of parser and writer, in a time that grows with its length only?"""

import os
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.contracts.heartbeat.line import every_s, every_text, slug
from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX, parse_heartbeat
from earnest.contracts.heartbeat.task import ATTEMPTS_MAX, EVERY_S_MAX, HeartbeatTask
from earnest.contracts.heartbeat.writing import added, edited
from earnest.foundation.errors import Refused

from .properties import hold

ROOT = Path(__file__).resolve().parents[3]
SECONDS_MAX = 1.0

PIECES = st.sampled_from(
    [
        *("- [ ] ", "* [x] ", "1. [X] ", "- ", "[ ]", "a", "b c", " | ", "|", "\\|", "\\", "required", "optional"),
        *("verify: x", "max_attempts: 4", "every: 2h", "`", "``", "<!--", "-->", "<div>", "> ", "```", "~~~", "    "),
        *(
            "# ",
            "## Tasks",
            "---",
            "===",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "\t",
            "\ufeff",
            "\0",
            "\u2028",
            "é",
            "检查",
            "\ufe0f",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.characters(exclude_categories=["Cs"]), max_size=60).map("".join)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.sampled_from("|\\`"), max_size=30)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_any_text_keeps_the_promises(text: str) -> None:
    hold(text.encode())


@given(st.binary(max_size=200))
def test_any_bytes_keep_the_promises(data: bytes) -> None:
    hold(data)


@given(WORDS)
def test_a_slug_is_its_own_slug(text: str) -> None:
    assert slug(slug(text)) == slug(text)


@given(st.integers(1, EVERY_S_MAX // 60))
def test_an_interval_reads_as_it_is_written(minutes: int) -> None:
    assert every_s(every_text(minutes * 60)) == minutes * 60


TASKS = st.builds(
    HeartbeatTask,
    id=st.just("new"),
    description=WORDS,
    verify=WORDS,
    required=st.booleans(),
    max_attempts=st.integers(1, ATTEMPTS_MAX),
    every_s=st.none() | st.integers(1, 44_640).map(lambda minutes: minutes * 60),
    is_ticked=st.booleans(),
)


@given(TASKS, TASKS)
@settings(deadline=None)
def test_what_is_written_reads_as_it_was_meant_or_is_refused(first: HeartbeatTask, second: HeartbeatTask) -> None:
    try:
        text = added("# Day\n\nBe kind.\n", first)
        assert parse_heartbeat(text).tasks == (first,)
        assert parse_heartbeat(edited(text, second)).tasks == (second,)
    except Refused as refused:
        assert refused.code == "heartbeat_task_unwritable"  # noqa: PT017


@given(st.from_regex(r"[A-Za-z][A-Za-z |\\.,]{0,20}[a-z]", fullmatch=True))
def test_ordinary_words_can_always_be_written(words: str) -> None:
    task = HeartbeatTask(id="new", description=f"do {words}", verify=f"see {words}")
    assert parse_heartbeat(added("", task)).tasks == (task,)
    other = replace(task, description=f"now {words}", required=False)
    assert parse_heartbeat(edited(added("", task), other)).tasks == (other,)


LONG = {
    "tasks": "- [ ] check_email | Check for new important emails | required | verify: email_count\n",
    "short tasks": "- [ ] a\n",
    "same ids": "- [ ] aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | b\n",
    "prose": "word word word word word word word word word word word word word word word word word word\n",
    "empty lines": "\n",
    "one line": "a",
    "boxes in a line": "- [ ] ",
    "pipes": "- [ ] a" + " | b" * 900 + "\n",
    "fields": "- [ ] a" + " | verify: b" * 300 + "\n",
    "ticks": "- [ ] a | " + "".join("`" * (at % 60 + 1) + "|" for at in range(120)) + "\n",
    "comments": "- [ ] a " + "<!--|" * 700 + "\n",
    "closed comments": "- [ ] a " + "<!--|-->" * 400 + "\n",
    "backslashes": "- [ ] a " + "\\|" * 1_800 + "\n",
    "quotes": "> ",
    "quoted lines": "> - [ ] a\n",
    "lists in quotes in lists": "> - > - > - [ ] a\n",
    "lists in lists": "- ",
    "deeper and deeper": "".join(" " * (at % 60) + "- [ ] a\n" for at in range(120)),
    "fences": "```\n- [ ] a\n",
    "open comment": "<!--\n- [ ] a\n",
    "tags": "<a b=c ",
    "tag lines": "<div>\n- [ ] a\n",
    "titles": "# Tasks\n",
    "underlines": "a\n=\n",
    "numbers": "123456789. [ ] a\n",
    "marks": "- * + 1. ",
    "front matter": "---\na: b\n",
    "blanks": " \t",
}


@pytest.mark.slow  # a megabyte each
@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_of_anything_is_read_within_a_second(name: str) -> None:
    text = (LONG[name] * (TEXT_BYTES_MAX // len(LONG[name]) + 1))[:TEXT_BYTES_MAX]
    spent_s = []
    for _ in range(3):
        start = time.process_time()
        parse_heartbeat(text)
        spent_s.append(time.process_time() - start)
    assert min(spent_s) <= SECONDS_MAX


@pytest.mark.slow  # a minute of a fuzzer, where it is installed
@pytest.mark.skipif(find_spec("atheris") is None, reason="the extra `fuzz` is not installed")
def test_a_fuzzer_finds_nothing_in_a_minute(tmp_path: Path) -> None:
    program = [
        sys.executable,
        str(ROOT / "fuzz" / "fuzz_heartbeat.py"),
        "-max_total_time=60",
        "-timeout=30",
        "-max_len=2048",
    ]
    done = subprocess.run(
        [*program, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ
    )
    assert done.returncode == 0, done.stderr[-4_000:]
