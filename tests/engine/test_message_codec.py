"""Does a message come back from the journal as it was sent, and with the same bytes from every process?"""

import dataclasses
import json
import os
import subprocess
import sys
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.codec import SENDERS, decode, encode
from earnest.engine.facts import MEGRAM, MESSAGE, message_fact, message_of
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.lessons import Lesson
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import Role, RunResumed
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Broken
from earnest.memory.megram import MegramState as Row
from earnest.memory.megram import Tag

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-9, 9) | TEXT | st.lists(TEXT, max_size=2))
SCALARS: dict[object, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**40), 2**40),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
}


def values(of: Any) -> st.SearchStrategy[Any]:
    """Values of a type as messages use them."""
    if of in SCALARS:
        return SCALARS[of]
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin is typing.Annotated:
        return values(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return st.one_of([values(choice) for choice in arguments])
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*map(values, arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is frozenset:
        return st.frozensets(values(arguments[0]), max_size=3)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return JSON if arguments[1] is Any else st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if isinstance(of, type) and issubclass(of, Enum):
        return st.sampled_from(of)
    assert isinstance(of, type)
    assert dataclasses.is_dataclass(of)
    hints = typing.get_type_hints(of, include_extras=True)
    return st.builds(of, **{field.name: values(hints[field.name]) for field in dataclasses.fields(of)})


@pytest.mark.parametrize("payload_type", sorted(SENDERS, key=str), ids=lambda kind: kind.__name__)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_message_comes_back_as_it_was_sent(payload_type: type, data: st.DataObject) -> None:
    payload = data.draw(values(payload_type))
    written = canonical_bytes(encode(payload))
    assert decode(payload_type.__name__, json.loads(written)) == payload
    assert canonical_bytes(encode(decode(payload_type.__name__, json.loads(written)))) == written


ENCODE_A_RECORD = """
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.codec import encode
from earnest.engine.messages import ToolCalled
from earnest.foundation.canonical import canonical_bytes
record = ToolRecord(
    tool="shell", tool_ids=frozenset(f"shell:{name}" for name in ("wc", "awk", "sed", "sort", "cut", "tr", "uniq")),
    target="x", args={"command": "wc"}, call_digest="", ok=True, exit_code=0, failure=None, output_excerpt="",
    output_digest="", output_bytes=0, duration_ms=0, started_at_ms=0, changed=(), sandbox="",
)
payload = ToolCalled(round=1, subtask_id="a", attempt=1, number=1, record=record)
print(canonical_bytes(encode(payload)).decode())
"""


@pytest.mark.slow
def test_a_message_has_the_same_bytes_in_every_process() -> None:
    written = {
        subprocess.run(
            [sys.executable, "-c", ENCODE_A_RECORD],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(written) == 1


def test_what_is_no_message_is_not_written() -> None:
    with pytest.raises(Broken):
        encode(Tag(space="tool:x", entity="path:y"))


def test_a_message_is_a_fact_and_the_fact_the_message() -> None:
    sent = Envelope(
        id="run/resumed/1",
        run_id="run",
        sender=Role.RUNTIME,
        causation_id=None,
        at_ms=7,
        payload=RunResumed(downtime_ms=5),
    )
    fact = message_fact(sent)
    assert (fact.kind, fact.subject, fact.at_ms) == (MESSAGE, "run", 7)
    assert message_of("run", 7, json.loads(canonical_bytes(fact.body))) == sent


def test_a_megram_is_a_fact_of_its_own_kind() -> None:
    lesson = Lesson(state=MacroState.REFINE, tag=Tag(space="tool:x", entity="path:y"), content="it worked")
    payload = MegramEmitted(megram_id="run/megram/1", lesson=lesson)
    sent = Envelope(id="m", run_id="run", sender=Role.R7, causation_id="c", at_ms=7, payload=payload)
    assert message_fact(sent).kind == MEGRAM
    assert message_of("run", 7, json.loads(canonical_bytes(message_fact(sent).body))) == sent


def test_the_states_of_the_solver_are_those_that_memory_has_a_row_for() -> None:
    assert {str(state) for state in MacroState} == {str(state) for state in Row}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": 1, "kind": "RunResumed", "sender": "runtime", "causation_id": None, "payload": {"downtime_ms": 1}},
        {"id": "m", "kind": "Whisper", "sender": "R3", "causation_id": None, "payload": {}},
        {"id": "m", "kind": "RunResumed", "sender": "runtime", "causation_id": None, "payload": {"downtime_ms": "x"}},
    ],
)
def test_what_no_version_of_ours_wrote_is_refused_with_a_word(body: dict[str, Any]) -> None:
    with pytest.raises(Broken):
        message_of("run", 1, body)


def test_somebody_may_send_each_message() -> None:
    assert all(SENDERS.values())
