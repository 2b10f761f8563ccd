"""Is an answer held to its form as the standard says, and is every form one that it can be held to?"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from earnest.effects.outside.llm.fitting import misfits
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken

KEYS = ("a", "b", "c")
WORDS = st.sampled_from(("", "x", "yes", "naïve"))
Forms = st.SearchStrategy[Any]
SMALL = st.integers(0, 3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 4) | st.just(0.5) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from((*KEYS, "d")), inner, max_size=4),
    max_leaves=12,
)


def bounded(kind: str, low: str, high: str) -> Forms:
    return st.fixed_dictionaries({"type": st.just(kind)}, optional={low: SMALL, high: SMALL})


def named(form: dict[str, Any]) -> dict[str, Any]:
    """A form requires only what it names: others are refused."""
    return form | {"required": [key for key in form.get("required", ()) if key in form["properties"]]}


def containers(inner: Forms) -> Forms:
    return (
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)},
            optional={"required": st.lists(st.sampled_from(KEYS), unique=True), "additionalProperties": st.booleans()},
        ).map(named)
        | st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner}, optional={"minItems": SMALL, "maxItems": SMALL}
        )
        | inner.map(lambda form: {"anyOf": [{"type": "null"}, form]})
    )


FORMS = st.recursive(
    st.just({"type": "boolean"})
    | st.just({"type": ["string", "null"]})
    | st.lists(WORDS, min_size=1, unique=True).map(lambda words: {"type": "string", "enum": words})
    | bounded("integer", "minimum", "maximum")
    | bounded("string", "minLength", "maxLength"),
    containers,
    max_leaves=8,
)


@pytest.mark.slow
@given(form=FORMS, value=VALUES)
def test_what_fits_is_what_the_standard_accepts(form: dict[str, Any], value: Any) -> None:
    assert (misfits(form, value) == []) is Draft202012Validator(form).is_valid(value)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"n": 1.0}, "/n: "),
        ({"n": True}, "/n: "),
        ({"n": "1"}, "/n: "),
        ({}, "/n: is missing"),
        ({"n": 1, "list": [{"m": "x"}, {}]}, "/list/1/m: is missing"),
        ({"n": 1, "x": 2}, "/x: is no member"),
        ([], "the object: "),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(value: Any, fault: str) -> None:
    entry: JsonObject = {"type": "object", "properties": {"m": {"type": "string"}}, "required": ["m"]}
    form: JsonObject = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "list": {"type": "array", "items": entry}},
        "required": ["n"],
        "additionalProperties": False,
    }
    (found,) = misfits(form, value)
    assert found.startswith(fault)


def test_of_a_long_list_only_the_first_item_that_does_not_fit_is_told() -> None:
    form: JsonObject = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    assert misfits(form, [["a"], ["b", 1, 2], *[[3]] * 100]) == ["/1/1: must be a valid string"]


def test_only_the_first_few_faults_are_told_each_in_short() -> None:
    form: JsonObject = {"type": "object", "additionalProperties": False}
    found = misfits(form, {f"{at}" + "k" * 1_000: 1 for at in range(100)})
    assert 1 < len(found) < 10
    assert max(map(len, found)) < 1_000


@pytest.mark.parametrize(
    "form",
    [
        {"type": "string", "pattern": "(a+)+$"},
        {"$ref": "#"},
        {"type": "object", "required": ["a"]},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "null"}]}}},
        {"type": "number"},
        {"enum": ["a"], "type": "integer"},
        {},
    ],
)
def test_a_form_of_other_words_is_refused(form: JsonObject) -> None:
    with pytest.raises(Broken):
        misfits(form, {})
