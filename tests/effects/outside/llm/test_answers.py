"""Is the one object that a model meant found, whatever stands around it, and is nothing else taken for it?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.outside.llm.answers import MARKS_MAX, NoAnswer, read_answer
from earnest.foundation.canonical import JsonObject

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
ANYTHING: JsonObject = {"type": "object"}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' \n{\n"a": 1}\n',
        'Of course! {"a": 1} I hope this helps.',
        '```json\n{"a": 1}\n```',
        '{"a": 1} {"a": 2}',
        '{"b": 1} {"a": "1"} {"a": 1}',
        'Use {braces} and {"quotes"} like this: {"a": 1}',
        '<think>{"a": 2}</think>{"a": 1}',
        '<THINKING>{"a": 2}</thinking> <think>{"a": 3}</think> {"a": 1}',
        '{"a": 2} so far</think>{"a": 1}',
        '{"a": 1}<think>or',
        '{"a": 2, {"a": 1}',
    ],
)
def test_the_first_object_that_fits_is_found(text: str) -> None:
    assert read_answer(text, SCHEMA) == {"a": 1}


@pytest.mark.parametrize("said", ["<think>", "</think>", "{", "}", '"', "```", "\\", "ü\u2028😀"])
def test_what_a_text_within_the_object_says_changes_nothing(said: str) -> None:
    value = {"a": 1, "s": f"so {said} it is"}
    assert read_answer(f"Here: {json.dumps(value)} {{}}", SCHEMA) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("I would rather not.", "no JSON object"),
        ('["a", 1]', "no JSON object"),
        ('<think>{"a": 1}', "thinks"),
        ('{"a": 1', "no JSON at character 7"),
        ('{"a": 1,}', "no JSON at character 8"),
        ("{'a': 1}", "no JSON object"),
        ('{"a": "1"}', "/a: must be a whole number"),
        ('{"s": ""}', "/a: is missing"),
        ('{"s": {"a": 1}}', "/s: "),
        ('{"oops": [{"a": 1}, {"a": 1}', "no JSON at character 28"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "1e999"),
        ('{"a": 1e20}', "1e20"),
        ('{"a": ' + "9" * 5_000 + "}", "no number"),
        ('{"a": 9007199254740993}', "9007199254740993"),
        ('{"a": 1, "s": "\\ud800"}', "surrogate"),
        ('{"a":' * 65 + "1" + "}" * 65, "deeper than 64"),
        ('{"a":' * 100_000, "deeper than 64"),
        ("x" * (4 * 1024 * 1024 + 1), "longer than"),
        ('{"a\x1b[2J" 1}', "character"),
    ],
)
def test_what_is_no_answer_is_said_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        read_answer(text, SCHEMA)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1_000
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "piece", ["{", "{ ", '{"', '{"x" ', '{"\\"', '{"a":[{},', "<think>", "</think>", '{"x" </think>', "<think></think>"]
)
def test_a_hostile_text_takes_no_longer_than_its_length_allows(piece: str) -> None:
    """What is quadratic would take hours here, and the test's time limit would end it."""
    with pytest.raises(NoAnswer):
        read_answer(piece * (2_000_000 // len(piece)), SCHEMA)


def test_only_so_many_objects_are_looked_at() -> None:
    assert read_answer('{"b": 1}' * (MARKS_MAX - 1) + '{"a": 1}', SCHEMA) == {"a": 1}
    with pytest.raises(NoAnswer):
        read_answer('{"b": 1}' * MARKS_MAX + '{"a": 1}', SCHEMA)


PROSE = st.text(alphabet="ab <>/think`\n.[],:'", max_size=40).filter(lambda text: "think>" not in text)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.slow
@given(value=st.dictionaries(st.text(max_size=5), VALUES, max_size=4), before=PROSE, after=st.text(max_size=40))
def test_any_object_comes_back_out_of_any_prose(value: dict[str, Any], before: str, after: str) -> None:
    if "</think" not in after:
        assert read_answer(before + json.dumps(value) + after, ANYTHING) == value
