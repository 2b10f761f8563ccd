"""Does any text at all keep the promises of parser and writer?"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.contracts.heartbeat.line import every_s, every_text, slug
from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import ATTEMPTS_MAX, EVERY_S_MAX, HeartbeatTask
from earnest.contracts.heartbeat.writing import added
from earnest.foundation.errors import Faulty, Refused

from .properties import hold

ROOT = Path(__file__).resolve().parents[3]

MARKS = "- [ ] ,* [x] ,1. [X] ,- ,[ ],[],☐,> ,`,``,```,~~~,<!--,-->,<div>,    ,# ,## Tasks,---,===,\\,\\|,|, | ,||"
WORDS_OF_IT = "a,b c,é,检查,required,optional,verify: x,max_attempts: 4,every: 2h"
ODD = ["\t", "\0", "\x0b", "\x85", "[\u00a0]", "\u0430\u0300", "\u200b", "\u2028", "\u202e", "\ufe0f", "\ufeff"]
ENDS = ["\n", "\n", "\n\n", "\r\n", "\r"]
PIECES = st.sampled_from([*MARKS.split(","), *WORDS_OF_IT.split(","), *ODD, *ENDS])
TEXTS = st.lists(PIECES | st.characters(exclude_categories=["Cs"]), max_size=60).map("".join)
BOXES = st.sampled_from(["- [ ] ", "* [x] ", "1. [ ] ", "  - [ ] ", "> - [ ] ", "- [] ", "- [ ]", "-[ ] ", "+ ☐ ", ""])
FIELDS = st.sampled_from([*WORDS_OF_IT.split(","), "", "`|`", "<!--|-->"])
LINES = st.builds(lambda box, fields: box + "|".join(fields), BOXES, st.lists(FIELDS, max_size=14))
"""Whole lines, of which most are tasks or nearly."""
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.sampled_from("|\\`"), max_size=30)


@pytest.mark.slow
@given(TEXTS)
@settings(max_examples=200)
def test_any_text_keeps_the_promises(text: str) -> None:
    hold(text.encode())


@pytest.mark.slow
@given(st.lists(LINES | TEXTS.map(lambda text: text[:20]), max_size=10).map("\n".join))
@settings(max_examples=200)
def test_any_lines_keep_the_promises(text: str) -> None:
    hold(text.encode())


@given(st.text(st.characters(categories=["Cs"]), min_size=1))
def test_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(Faulty, match=":1:8: this is not UTF-8"):
        parse_heartbeat(f"- [ ] a{text}")


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


@given(TASKS)
def test_what_is_written_reads_as_it_was_meant_or_is_refused(first: HeartbeatTask) -> None:
    try:
        text = added("# Day\n\nBe kind.\n", first)
        assert parse_heartbeat(text).tasks == (first,)
    except Refused as refused:
        assert refused.code == "heartbeat_task_unwritable"  # noqa: PT017


@given(st.from_regex(r"[A-Za-z][A-Za-z |\\.,]{0,20}[a-z]", fullmatch=True))
def test_ordinary_words_can_always_be_written(words: str) -> None:
    task = HeartbeatTask(id="new", description=f"do {words}", verify=f"see {words}")
    assert parse_heartbeat(added("", task)).tasks == (task,)


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
