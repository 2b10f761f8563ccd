"""How does a judge answer in perfect form? Replies for `earnest.testing.model_server`, made out of what was asked."""

import json
import re
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.testing.model_server import Reply, Request, answers

_CRITERIA: Final = re.compile(r"^Criteria:\n(\[.*?^\])$", re.MULTILINE | re.DOTALL)


def judgement(request: Request, *unmet: str) -> JsonObject:
    """The object that a well-behaved judge answers: every criterion met but those named."""
    found = _CRITERIA.search(request.prompt)
    assert found is not None, "the request shows no criteria"
    ids = [entry["id"] for entry in json.loads(found[1])]
    return {
        "verdict": "not_verified" if unmet else "verified",
        "criteria": [{"id": one, "met": one not in unmet, "reason": "as the work shows"} for one in ids],
    }


def approves(request: Request) -> Reply:
    """Says yes to everything: a model that obeys whatever the work tells it."""
    return answers(judgement(request))


def rejects(request: Request) -> Reply:
    """Finds the first criterion not met."""
    return answers(judgement(request, "C1"))
