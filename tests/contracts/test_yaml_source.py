"""Does a YAML text become exactly the JSON value it shows, with lines, or a fault?"""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from earnest.contracts.node import plain
from earnest.contracts.yaml_source import DEPTH_MAX, SOURCE_BYTES_MAX, read_yaml
from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Faulty

KEYS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["C"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | KEYS,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def faults(text: str | bytes) -> list[tuple[int, str]]:
    with pytest.raises(Faulty) as caught:
        read_yaml(text, "f.yaml")
    return [(fault.line, fault.message) for fault in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: &x 1\nb: *x\n", 1, "anchors"),
        ("a: 1\nb: *x\n", 2, "anchors"),
        ("&a [*a]\n", 1, "anchors"),
        ("a: 1\nb: 2\na: 3\n", 3, "already on line 1"),
        ("a: {b: 1, b: 2}\n", 1, "already"),
        ("a:\n  1: x\n", 2, "a key must be text"),
        ("a:\n  yes: x\n", 2, "a key must be text"),
        ("? [a]\n: b\n", 1, "a key must be text"),
        ("<<: {a: 1}\n", 1, "a key must be text"),
        ("a: !!python/object/apply:os.system [x]\n", 1, "tag"),
        ("a: !!binary aGk=\n", 1, "tag"),
        ("a: !mine 1\n", 1, "tag"),
        ("a:\n  b: !!str 1\n", 2, "tag"),
        ("a:\n\t- b\n", 2, "a tab"),
        ("a: 1\nb: [1\n", 2, "not closed"),
        ("a: 1\n---\nb: 1\n", 2, "document"),
        ("a: 1\nb: \x01\n", 2, "not YAML"),
        ("a: 010\n", 1, "decimal"),
        ("a: 1:30\n", 1, "decimal"),
        ("a: 0x1F\n", 1, "decimal"),
        ("a: .inf\n", 1, "decimal"),
        ("a: 1.0e+400\n", 1, "decimal"),
        ("a: 9007199254740993\n", 1, "decimal"),
        ("a: 9007199254740993.0\n", 1, "decimal"),
        ("a: 1.0e+20\n", 1, "decimal"),
        ("a: " + "9" * 5000, 1, "decimal"),
        ("", 0, "empty"),
        ("# nothing\n", 0, "empty"),
        (b"a: 1\nb: \xff\n", 2, "UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, "UTF-8"),
        ("\n" + "[" * (DEPTH_MAX + 2), 2, "deeper"),
        ("a: [" * (DEPTH_MAX), 1, ""),
        ("x" * (SOURCE_BYTES_MAX + 1), 0, "limit"),
    ],
)
def test_what_is_not_plain_json_is_named_with_its_line(text: str | bytes, line: int, part: str) -> None:
    found = faults(text)
    assert any(at == line and part in message for at, message in found), found


def test_every_fault_is_named_not_only_the_first() -> None:
    assert [line for line, _ in faults("a: 010\nb: 1\nb: 2\n3: c\n")] == [1, 3, 4]


def test_a_billion_laughs_are_refused_at_once() -> None:
    bomb = "a: &a [x]\n" + "".join(f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert faults(bomb) == [(1, "anchors and aliases are not allowed: write the value out")]


def test_what_looks_like_a_date_stays_text() -> None:
    assert read_yaml("a: 2026-11-21\nb: 1e3\nc: ~\nd: 1.5\ne: on\n", "f").json() == {
        "a": "2026-11-21",
        "b": "1e3",
        "c": None,
        "d": 1.5,
        "e": True,
    }


def test_values_keep_their_lines_and_paths() -> None:
    node = read_yaml("a: 1\nb:\n  - c: 2\n    d: 3\n", "f")
    assert node.lines() == {"": 1, "a": 1, "b": 3, "b[0]": 3, "b[0].c": 3, "b[0].d": 4}


@pytest.mark.slow
@given(VALUES)
def test_what_is_written_is_read_back(value: JsonValue) -> None:
    assert read_yaml(yaml.safe_dump(plain(value)), "f").json() == value


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_a_value_or_faults(text: str | bytes) -> None:
    try:
        read: list[object] = [read_yaml(text, "f")]
    except Faulty as faulty:
        read = list(faulty.diagnostics)
    assert read


@given(st.lists(KEYS, min_size=1, max_size=20, unique=True))
def test_the_nth_line_is_called_the_nth(keys: list[str]) -> None:
    text = "".join(json.dumps(key) + ": 1\n" for key in keys)
    node = read_yaml(text, "f")
    assert list(node.key_lines.values()) == list(range(1, len(keys) + 1))
