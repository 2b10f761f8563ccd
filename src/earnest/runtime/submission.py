"""What somebody is judged by: a specification from a file."""

from pathlib import Path

from earnest.contracts.spec import VerificationSpec, parse_spec
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.verification.service import Verifier


def read_spec(path: Path, verifier: Verifier) -> VerificationSpec:
    """The specification in a file. Raises `Faulty` with every fault, each with file and line."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Faulty([Diagnostic(source=str(path), line=0, message=error.strerror or str(error))]) from error
    folder = path.absolute().parent
    return parse_spec(text, str(path), check_faults=lambda check: verifier.check_faults(check, folder))
