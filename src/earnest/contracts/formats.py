"""File formats: a file given where another format is wanted is refused in one line."""

from collections.abc import Mapping
from typing import Final

from earnest.contracts.node import Node
from earnest.foundation.errors import Diagnostic, Faulty

FORMATS: Final[Mapping[str, str]] = {
    "earnest-playbook-v1": "a playbook, which `earnest run` works",
    "earnest-spec-v1": "a specification, by which `earnest verify` judges",
}


def refuse_other_format(root: Node, source: str, wanted: str) -> None:
    """Raises `Faulty` for a file whose `format` is that of another kind of file than `wanted`."""
    given = root.value.get("format") if isinstance(root.value, Mapping) else None
    if given is not None and given.value != wanted and isinstance(given.value, str) and given.value in FORMATS:
        message = f"this is {FORMATS[given.value]}; here {FORMATS[wanted].partition(',')[0]} is wanted"
        raise Faulty([Diagnostic(source=source, line=given.line, message=message)])
