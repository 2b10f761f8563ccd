"""What does a program's output mean, and what is none of it?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.ground.process import ProgramFailed
from earnest.runtime.heartbeats.command import without_keys
from earnest.runtime.heartbeats.program import REPLY_CHARACTERS_MAX, Said, said_by


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", Said(reply="")),
        (b"  done\n", Said(reply="done")),
        (b"HEARTBEAT_OK", Said(reply="HEARTBEAT_OK")),
        (b"\xff\xfe", Said(reply="��")),
        (b'{"sum": 3}', Said(reply='{"sum": 3}')),
        (b'{"reply": "x"', Said(reply='{"reply": "x"')),
        (b'[{"reply": "x"}]', Said(reply='[{"reply": "x"}]')),
        (b"{" * 100_000, Said(reply="{" * 100_000)),
        (b'\n{"reply": "x"}\n', Said(reply="x")),
        (
            b'{"reply": "", "records": [{"tool": "t", "ok": true}], "claims": [{"task": "a"}]}',
            Said(reply="", records=({"tool": "t", "ok": True},), claims=({"task": "a"},)),
        ),
    ],
)
def test_an_object_with_a_reply_is_the_answer_and_anything_else_is_the_reply(output: bytes, said: Said) -> None:
    assert said_by(output) == said


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b'{"reply": 1}', "reply is no text"),
        (b'{"reply": "", "tools": [], "verdict": 1}', "nobody knows: tools, verdict"),
        (b'{"reply": "", "claims": {}}', "claims are no list"),
        (b'{"reply": "", "records": [1]}', "records are no list"),
        (b'{"reply": "", "claims": [{"task": "a", "values": {"n": NaN}}]}', "JSON cannot carry"),
        (b'{"reply": "\\ud800"}', "JSON cannot carry"),
        (b"x" * (REPLY_CHARACTERS_MAX + 1), "more than 100000 characters"),
        (json.dumps({"reply": "x" * (REPLY_CHARACTERS_MAX + 1)}).encode(), "more than 100000 characters"),
    ],
)
def test_an_answer_that_is_not_of_the_form_is_a_failure_that_says_why(output: bytes, message: str) -> None:
    with pytest.raises(ProgramFailed, match=message):
        said_by(output)


@given(st.binary(max_size=200) | st.text(max_size=50).map(lambda text: f'{{"reply": {text}'.encode()))
def test_whatever_is_written_is_an_answer_or_a_failure(output: bytes) -> None:
    try:
        said = said_by(output)
    except ProgramFailed:
        return
    assert said.reply.encode().decode() == said.reply


def test_no_key_of_a_platform_is_handed_on() -> None:
    given_ = {"EARNEST_KEY": "ern_hb_abc", "HEADER": "Bearer ern_live_xyz", "PATH": "/bin", "OPENAI_API_KEY": "sk-1"}
    assert without_keys(given_) == {"PATH": "/bin", "OPENAI_API_KEY": "sk-1"}
