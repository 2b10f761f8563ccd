"""Probes in the specs of a platform: who may name one, and what whoever is judged by it is told.

A probe measures the operator's own world. So only the operator names one, in a job of theirs or by accepting a
contract, and what it measured, expected or failed at is for the operator alone: others read whether it is met.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from earnest.contracts.criterion import Criterion
from earnest.foundation.errors import Refused
from earnest.verification.verdict import Answer

PROBE: Final = "probe"
_MET: Final = {
    Answer.VERIFIED: "the probe finds it met",
    Answer.NOT_VERIFIED: "the probe finds it not met",
    Answer.UNCLEAR: "the probe cannot tell now",
}


class Told(NamedTuple):
    """A reason for everybody, and the operator's, where that is another."""

    reason: str
    for_operator: str = ""


def is_probed(criterion: Criterion) -> bool:
    """True where a probe decides it."""
    return criterion.check is not None and criterion.check.kind == PROBE


def told(criterion: Criterion, answer: Answer, reason: str) -> Told:
    """What may be said of a criterion, and to whom."""
    return Told(_MET[answer], reason) if is_probed(criterion) else Told(reason)


def need_probes(criteria: Sequence[Criterion], names: Collection[str]) -> None:
    """Refuse what names a probe that is none of `names`, whether or not there is one. Raises `unknown_check`."""
    for one in filter(is_probed, criteria):
        name = one.check.config.get("probe") if one.check else None
        if name not in names:
            raise Refused("unknown_check", f"{one.id}: there is no probe {str(name)[:80]!r} that you may name")
