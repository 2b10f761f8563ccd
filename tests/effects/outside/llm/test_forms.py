"""In which form is an answer asked for?"""

import pytest

from earnest.effects.outside.llm.api import Message, MessageRole
from earnest.effects.outside.llm.forms import Form, is_closed, request_of
from earnest.foundation.canonical import JsonObject

CLOSED: JsonObject = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {**CLOSED, "required": []},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "properties": {"id": {"type": "object"}}},
        {"anyOf": [{"type": "null"}, {"type": "object"}]},
    ],
)
def test_a_schema_with_an_open_object_is_not_asked_for_strictly(schema: JsonObject) -> None:
    assert not is_closed(schema)
    asked = request_of([Message(role=MessageRole.USER, text="go")], schema, Form())
    assert asked["response_format"]["json_schema"]["strict"] is False  # type: ignore[index]


def test_a_closed_schema_is_asked_for_strictly() -> None:
    assert is_closed({"anyOf": [{"type": "null"}, CLOSED]})
    asked = request_of([Message(role=MessageRole.USER, text="go")], CLOSED, Form())
    assert asked["response_format"]["json_schema"]["strict"] is True  # type: ignore[index]
