"""A criterion in words, the same for who plans, who works and who is sent back: its label, its text, its check."""

from earnest.contracts.criterion import Criterion, check_to_json
from earnest.foundation.canonical import canonical_text


def told_criterion(criterion: Criterion) -> str:
    """`C1 it is there; checked by {"kind":"files",…}`"""
    check = f"; checked by {canonical_text(check_to_json(criterion.check))}" if criterion.check else ""
    return f"{criterion.id} {criterion.text}{check}"
