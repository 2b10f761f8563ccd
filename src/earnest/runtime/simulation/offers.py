"""Offers in a simulated market."""

from typing import Final

from earnest.contracts.spec import Acceptance
from earnest.foundation.canonical import JsonObject
from earnest.market.jobs.job import TaskClass
from earnest.market.jobs.offer import Offer, Requirement
from earnest.market.terms import DAY_S, HOUR_S

RIGHT: Final = b'{"sum": 42}'
WRONG: Final = b'{"sum": 41}'
_SCHEMA: Final[JsonObject] = {"type": "object", "required": ["sum"], "properties": {"sum": {"const": 42}}}
_CHECKED: Final[JsonObject] = {
    "id": "C1",
    "text": "answer.json holds the sum",
    "check": {"kind": "json_schema", "path": "answer.json", "schema": _SCHEMA},
}
_JUDGED: Final[JsonObject] = {"id": "C1", "text": "it reads well"}
_ANSWER: Final = Requirement(id="answer", kind="json", description="the sum", path="answer.json")


def offer_of(throw: int, amount_micro: int, currency: str) -> Offer:
    """One of a few sorts of jobs. `throw`: 0 to 99."""
    if throw < 40:
        acceptance = Acceptance.MACHINE
    elif throw < 75:
        acceptance = Acceptance.BUYER
    else:
        acceptance = Acceptance.PROPOSER if throw < 95 else Acceptance.HUMAN
    is_checked = throw < 50
    return Offer(
        title=f"Sum {throw}",
        text="Write answer.json with the sum.",
        category="arithmetic" if is_checked else "writing",
        task_class=TaskClass.OBJECTIVE if is_checked else TaskClass.SUBJECTIVE,
        currency=currency,
        amount_micro=amount_micro,
        acceptance=acceptance,
        criteria=(_CHECKED if is_checked else _JUDGED,),
        requirements=(_ANSWER,),
        files={},
        work_s=(4 + throw % 5 * 12) * HOUR_S,
        auto_extend=throw % 3 == 0,
        auto_release_s=(1 + throw % 4) * DAY_S,
        apply_window_s=6 * HOUR_S if throw % 10 == 0 else 0,
        revisions_max=throw % 3,
    )
