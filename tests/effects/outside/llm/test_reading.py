"""Is an answer read the same however the wire cuts it, and however a server writes its events?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.outside.llm.api import Finish, TokenUsage
from earnest.effects.outside.llm.reading import RawCompletion, Useless, complaint_of


def event(**frame: object) -> bytes:
    return b"data: %b\n\n" % json.dumps(frame, ensure_ascii=False).encode()


def said(text: str, finish: str | None = None) -> bytes:
    return event(model="m", choices=[{"index": 0, "delta": {"content": text}, "finish_reason": finish}])


STREAM = (
    said("Grüße, ")
    + b": keep alive\n\n"
    + said("Ω 😀", "stop")
    + event(usage={"prompt_tokens": 3, "completion_tokens": 4})
    + b"data: [DONE]\n\n"
)


def read(*pieces: bytes) -> RawCompletion:
    answer = RawCompletion()
    for piece in pieces:
        answer.feed(piece)
    answer.end()
    return answer


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8).map(sorted))
def test_where_the_wire_cuts_changes_nothing(cuts: list[int]) -> None:
    answer = read(*(STREAM[start:end] for start, end in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)))
    assert (answer.text, answer.finish, answer.model) == ("Grüße, Ω 😀", Finish.STOP, "m")
    assert answer.usage == TokenUsage(prompt_tokens=3, completion_tokens=4)


@pytest.mark.parametrize(
    "stream",
    [
        STREAM.replace(b"\n", b"\r\n"),
        STREAM.replace(b"data: ", b"data:"),
        STREAM.removesuffix(b"\n\n"),
        STREAM.replace(b"data: [DONE]\n\n", b""),
        b"event: message\nid: 7\n" + STREAM,
        STREAM.replace(b'data: {"usage": ', b'data: {"usage":\ndata: '),
    ],
)
def test_the_ways_in_which_servers_write_events_are_one(stream: bytes) -> None:
    answer = read(stream)
    assert (answer.text, answer.finish, answer.usage.prompt_tokens) == ("Grüße, Ω 😀", Finish.STOP, 3)


def test_a_pair_of_surrogates_that_came_apart_is_one_character_and_a_lone_one_none() -> None:
    first = rb'data: {"choices": [{"delta": {"content": "a\ud83d"}}]}'
    second = first.replace(rb"a\ud83d", rb"\ude00")
    assert read(first, b"\n\n", second).text == "a😀"
    assert read(first).text == "a\ufffd"


def test_thoughts_and_other_choices_are_no_answer() -> None:
    thought = event(choices=[{"index": 0, "delta": {"reasoning_content": "hm", "content": None}}])
    other = event(choices=[{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}])
    assert (read(thought, other, said("yes")).text, read(thought, other).finish) == ("yes", None)


@pytest.mark.parametrize("count", [-1, 1.5, "3", True, None, 2**60, [1]])
def test_half_a_count_counts_nothing(count: object) -> None:
    assert read(event(usage={"prompt_tokens": count, "completion_tokens": 2})).usage == TokenUsage()
    assert read(event(usage={"prompt_tokens": 2, "completion_tokens": count})).usage == TokenUsage()


@pytest.mark.timeout(20)
def test_a_long_line_in_small_pieces_is_put_together_once() -> None:
    answer, characters = RawCompletion(), 400_000
    for piece in (b"data: {", *[b" "] * characters, b'"model": "m"}', b"\n", b"\n"):
        answer.feed(piece)
    assert answer.model == "m"


@pytest.mark.parametrize(
    "data",
    [b"7", b"[]", b"{", b"\xff", b'{"choices": 7}', b'{"choices": [7]}', b'{"choices": [{"delta": 7}]}', b"[" * 99_999],
)
def test_what_is_no_chunk_is_an_error(data: bytes) -> None:
    with pytest.raises((ValueError, TypeError, RecursionError)):
        read(b"data: " + data + b"\n\n")


@pytest.mark.parametrize("error", ["out of memory", {"message": "out of memory", "code": 500}])
def test_an_endpoints_own_error_is_told_in_its_words(error: object) -> None:
    with pytest.raises(Useless, match=r"^broke off with an error: out of memory$"):
        read(said("Well"), event(error=error))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "too long", "code": 7}}', "too long"),
        (b'{"message": "too long", "object": "error"}', "too long"),
        (b'{"error": {"message": 7}}', '{"error": {"message": 7}}'),
        (b'{"error": "too long"}', '{"error": "too long"}'),
        (b'{"detail": "too long"}', '{"detail": "too long"}'),
        (b'["too long"]', '["too long"]'),
        (b"\xfftoo long\n", "\ufffdtoo long"),
        (b"[" * 60_000, "[" * 60_000),
        (b"", ""),
    ],
)
def test_a_complaint_is_its_message_or_else_all_of_it(body: bytes, words: str) -> None:
    assert complaint_of(body) == words


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8).map(sorted))
def test_what_is_heard_is_what_is_read(cuts: list[int]) -> None:
    heard: list[str | None] = []
    answer = RawCompletion(heard.append)
    for start, end in zip([0, *cuts], [*cuts, len(STREAM)], strict=True):
        answer.feed(STREAM[start:end])
    assert heard == ["Grüße, ", "Ω 😀"]
    assert answer.text == "".join(map(str, heard))


def test_calls_are_heard_by_name_and_arguments() -> None:
    heard: list[str | None] = []
    answer = RawCompletion(heard.append)
    for function in ({"name": "shell", "arguments": ""}, {"arguments": '{"command"'}, {"arguments": ':"ls"}'}):
        call = {"index": 0, "function": function}
        answer.feed(event(choices=[{"index": 0, "delta": {"tool_calls": [call]}}]))
    assert "".join(map(str, heard)) == '\nshell {"command":"ls"}'
