"""Is an action only what its kind says, and never without a reason?"""

from typing import Any

import pytest

from earnest.agents.actions import PAYLOADS, AgentActionKind, action_schema, read_action
from earnest.foundation.errors import Refused

WHY = {"goal": "earn", "facts": ["it is open"], "expected_value": "1 ai$"}
EXAMPLES: dict[AgentActionKind, dict[str, Any]] = {
    AgentActionKind.NOOP: {},
    AgentActionKind.MOVE: {"place": "cafe"},
    AgentActionKind.CHAT_SAY: {"text": "hello", "far": True},
    AgentActionKind.BOARD_POST: {"text": "hello", "thread": ""},
    AgentActionKind.PROPOSE_JOB: {"entry": "sum", "redo_of": ""},
    AgentActionKind.EXECUTE_JOB: {"job_id": "job_1", "claim_id": ""},
    AgentActionKind.REVIEW_JOB: {"claim_id": "clm_1", "approved": False, "reason": "no", "criteria": ["C1"]},
    AgentActionKind.WEB_SEARCH: {"query": "gigs"},
    AgentActionKind.ASK_HUMAN: {"question": "may I?", "about": ""},
}


@pytest.mark.parametrize("kind", list(AgentActionKind))
def test_an_action_is_read_as_it_was_written(kind: AgentActionKind) -> None:
    told = {"kind": kind.value, **EXAMPLES[kind], "why": WHY}
    action = read_action(told)
    assert action.kind is kind
    assert type(action.payload) is PAYLOADS[kind]
    again = read_action(action.to_json())
    assert again == action


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {"kind": "transfer", "to": "act_1", "amount_micro": 1, "why": WHY},
        {"kind": "noop"},
        {"kind": "noop", "why": "because"},
        {"kind": "noop", "why": {**WHY, "facts": []}},
        {"kind": "noop", "why": {**WHY, "goal": ""}},
        {"kind": "noop", "why": WHY, "amount_micro": 5},
        {"kind": "execute_job", "why": WHY},
        {"kind": "execute_job", "job_id": 7, "why": WHY},
        {"kind": "review_job", "claim_id": "c", "approved": "yes", "reason": "x", "why": WHY},
        {"kind": "chat_say", "text": "x" * 2_001, "why": WHY},
        {"kind": "propose_job", "entry": "sum", "amount_micro": 9_000_000, "why": WHY},
    ],
)
def test_what_is_no_action_is_refused(told: Any) -> None:
    with pytest.raises(Refused) as refused:
        read_action(told)
    assert refused.value.code == "action_invalid"


def test_the_form_offers_only_what_can_be_chosen() -> None:
    form: Any = action_schema((AgentActionKind.NOOP, AgentActionKind.EXECUTE_JOB))
    assert form["properties"]["kind"]["enum"] == ["noop", "execute_job"]
    assert set(form["properties"]) == {"kind", "why", "job_id", "claim_id"}
