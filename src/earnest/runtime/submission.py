"""What somebody is judged by: a specification from a file."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.spec import Acceptance, VerificationSpec, parse_spec
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.verification.service import Verifier

REVIEWED_BY: Final = {
    Acceptance.BUYER: "proposer_review",
    Acceptance.PROPOSER: "proposer_review",
    Acceptance.HUMAN: "human",
}
"""The check that decides a criterion without one, by who accepts the work."""


def reviewed_criteria(spec: VerificationSpec) -> tuple[Criterion, ...]:
    """The criteria of a spec; those without a check wait for whoever accepts the work."""
    kind = REVIEWED_BY.get(spec.acceptance)
    if kind is None:
        return spec.criteria
    return tuple(one if one.check else replace(one, check=CheckSpec(kind=kind)) for one in spec.criteria)


def read_spec(path: Path, verifier: Verifier) -> VerificationSpec:
    """The specification in a file. Raises `Faulty` with every fault, each with file and line."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Faulty([Diagnostic(source=str(path), line=0, message=error.strerror or str(error))]) from error
    folder = path.absolute().parent
    return parse_spec(text, str(path), check_faults=lambda check: verifier.check_faults(check, folder))
