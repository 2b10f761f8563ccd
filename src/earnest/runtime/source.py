"""The text of a playbook or a spec, as it lies in a file."""

from pathlib import Path

from earnest.contracts.yaml_source import SOURCE_BYTES_MAX
from earnest.effects.ground.faults import why
from earnest.foundation.errors import Diagnostic, Faulty


def text_of(path: Path) -> bytes:
    """A file that somebody wrote, whole. Raises `Faulty` if it cannot be read or is larger than YAML may be."""
    try:
        with path.open("rb") as file:
            text = file.read(SOURCE_BYTES_MAX + 1)
    except OSError as error:
        raise Faulty([Diagnostic(source=str(path), line=0, message=why(error))]) from error
    if len(text) > SOURCE_BYTES_MAX:
        raise Faulty([Diagnostic(source=str(path), line=0, message=f"larger than {SOURCE_BYTES_MAX} bytes")])
    return text
