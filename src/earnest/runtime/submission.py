"""What is handed in, and by what it is judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.spec import Acceptance, VerificationSpec, parse_spec
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.runtime.source import text_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedWork:
    """A folder or an archive to be judged by a spec, whose own files lie in `base_folder`. All paths are absolute."""

    spec: VerificationSpec
    base_folder: Path
    work: Path


def read_spec(path: Path, verifier: Verifier) -> VerificationSpec:
    """The spec in a file. Raises `Faulty` with every fault, with file and line."""
    folder = path.absolute().parent
    return parse_spec(text_of(path), str(path), check_faults=lambda check: verifier.check_faults(check, folder))


def submissions(spec: VerificationSpec, base_folder: Path, works: Sequence[Path]) -> tuple[SubmittedWork, ...]:
    """What a spec makes with folders and archives, in order. Raises `Faulty` with every one that is missing."""
    if missing := [work for work in works if not work.exists()]:
        raise Faulty(Diagnostic(source=str(work), line=0, message="no such folder or archive") for work in missing)
    return tuple(SubmittedWork(spec=spec, base_folder=base_folder.absolute(), work=work.absolute()) for work in works)
