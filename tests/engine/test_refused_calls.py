"""A call that the engine refused was never made, so nothing that follows from a tool's failure follows from it."""

import pytest

from earnest.effects.hands.tools.failures import ToolFailure, environmental, logical
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.gradient.blocking import SubTaskTrial, failed_targets
from earnest.engine.guard import REFUSALS
from earnest.engine.sensing import _call
from earnest.foundation.failures import FailureClass


def record(failure: ToolFailure) -> ToolRecord:
    return ToolRecord(
        tool="shell",
        tool_ids=frozenset({"shell:wc"}),
        target="wc notes",
        args={},
        call_digest="",
        ok=False,
        exit_code=None,
        failure=failure,
        output_excerpt="",
        output_digest="",
        output_bytes=0,
        duration_ms=0,
        started_at_ms=0,
        changed=(),
        sandbox="",
    )


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_a_refused_call_is_no_failure_of_its_tool(code: str) -> None:
    call = _call(record(logical(code, "not made")))
    assert (call.ok, call.failure) == (False, None)
    trial = SubTaskTrial(subtask="count", calls=(call,))
    assert [*failed_targets(trial, FailureClass.LOGICAL), *failed_targets(trial, FailureClass.ENVIRONMENTAL)] == []


def test_a_call_that_was_made_and_failed_is() -> None:
    assert _call(record(logical("exit_status", "exit status 1"))).failure is FailureClass.LOGICAL
    assert _call(record(environmental("enoent", "no such file"))).failure is FailureClass.ENVIRONMENTAL
