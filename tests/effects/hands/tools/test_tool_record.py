"""Is a record true to the call?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.record import ToolCall, ToolRecord, excerpt
from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
COUNT = st.integers(0, 2**53 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.builds(
    ToolRecord,
    tool=TEXT,
    tool_ids=st.frozensets(TEXT, max_size=3),
    target=TEXT,
    args=st.dictionaries(TEXT, JSON, max_size=3),
    call_digest=TEXT,
    ok=st.booleans(),
    exit_code=st.none() | st.integers(-64, 255),
    failure=st.none()
    | st.builds(ToolFailure, failure_class=st.none() | st.sampled_from(FailureClass), code=TEXT, message=TEXT),
    output_excerpt=TEXT,
    output_digest=TEXT,
    output_bytes=COUNT,
    duration_ms=COUNT,
    started_at_ms=COUNT,
    changed=st.lists(
        st.builds(
            Change,
            path=TEXT,
            kind=st.sampled_from(EntryKind),
            digest=st.none() | TEXT,
            size_bytes=COUNT,
            executable=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    sandbox=TEXT,
)


@pytest.mark.slow
@given(RECORDS)
def test_a_record_comes_back_from_the_json_of_a_fact(record: ToolRecord) -> None:
    assert ToolRecord.from_json(json.loads(canonical_bytes(record.to_json()))) == record


@pytest.mark.parametrize("value", [None, {}, [], {"tool": "shell"}])
def test_what_is_not_ours_is_never_read_as_a_record(value: object) -> None:
    with pytest.raises(Broken):
        ToolRecord.from_json(value)  # type: ignore[arg-type]


def test_a_call_has_one_digest_for_one_action() -> None:
    call = ToolCall(tool="shell", args={"command": "wc", "x": 1})
    assert call.digest("1") == ToolCall(tool="shell", args={"x": 1, "command": "wc"}, timeout_ms=1).digest("1")
    others = [
        call.digest("2"),
        ToolCall(tool="other", args=call.args).digest("1"),
        ToolCall(tool="shell", args={"command": "wc"}).digest("1"),
        ToolCall(tool="shell", args=call.args, network=True).digest("1"),
        ToolCall(tool="shell", args=call.args, writes=("/a",)).digest("1"),
    ]
    assert len({call.digest("1"), *others}) == 6


def test_output_within_the_limit_is_kept_whole() -> None:
    assert excerpt(b"x" * 4_000, b"") == "x" * 4_000
    assert excerpt(b"", b"err") == "[stderr]\nerr"
    assert excerpt(b"", b"") == ""


def test_of_long_output_a_third_from_the_head_and_two_from_the_tail_are_kept() -> None:
    text = excerpt(("a" * 5_000 + "é" * 5_000).encode(), b"")
    assert text.startswith("a" * 1_333 + "\n[")
    assert text.endswith("]\n" + "é" * 2_667)
    assert "6000 characters left out" in text


def test_both_streams_are_labelled() -> None:
    assert excerpt(b"out\n", b"err\n") == "[stdout]\nout\n\n[stderr]\nerr\n"
    assert (excerpt(b"out\n", b""), excerpt(b"", b"err\n")) == ("out\n", "[stderr]\nerr\n")


def test_a_loud_stream_does_not_silence_the_other() -> None:
    loud_out = excerpt(b"o" * 9_000, b"e" * 900 + b"END")
    assert loud_out.endswith("e" * 900 + "END")
    assert loud_out.count("o") > 3_000
    loud_err = excerpt(b"RESULT", b"e" * 9_000)
    assert "RESULT" in loud_err
    assert loud_err.count("e") > 3_900
    both = excerpt(b"o" * 9_000, b"e" * 9_000)
    assert (both.count("o") > 2_900, both.count("e") > 990) == (True, True)


@given(st.binary(max_size=9_000), st.binary(max_size=9_000))
def test_any_bytes_give_text_that_a_fact_can_hold(stdout: bytes, stderr: bytes) -> None:
    text = excerpt(stdout, stderr)
    assert len(text) < 4_200
    canonical_bytes(text)
