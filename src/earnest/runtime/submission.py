"""What is handed in, and by what it is judged."""

from dataclasses import dataclass
from pathlib import Path

from earnest.contracts.spec import VerificationSpec, parse_spec
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.runtime.order import text_of
from earnest.verification.service import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A folder to be judged by a spec, whose own files lie in `base_folder`. Both paths are absolute."""

    spec: VerificationSpec
    base_folder: Path
    folder: Path


def read_submission(spec_path: Path, folder: Path, verifier: Verifier) -> Submission:
    """The submission that a spec's file and a folder make. Raises `Faulty` with every fault, with file and line."""
    base_folder = spec_path.absolute().parent
    text = text_of(spec_path)
    spec = parse_spec(text, str(spec_path), check_faults=lambda check: verifier.check_faults(check, base_folder))
    if not folder.is_dir():
        raise Faulty([Diagnostic(source=str(folder), line=0, message="no such folder")])
    return Submission(spec=spec, base_folder=base_folder, folder=folder.absolute())
