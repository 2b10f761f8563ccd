"""What must never be touched or done, as criteria: a path or pattern is measured, words have to be judged."""

from collections.abc import Iterable, Sequence
from typing import Final

from earnest.contracts.criterion import CheckFaults, CheckSpec, Criterion, Mode
from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader

NEVER_MAX: Final = 20
NEVER_CHARACTERS_MAX: Final = 500
EVERY_EDIT: Final = "*"
"""In the config of a `diff` check: whatever was given to edit, and what was made beside it."""


def never_criteria(entries: Iterable[str]) -> tuple[Criterion, ...]:
    """N1, N2, …, all required: of an entry without blanks that nothing at or below such a path differs."""
    return tuple(_criterion(f"N{number}", entry) for number, entry in enumerate(entries, start=1))


def is_place(entry: str) -> bool:
    """True if it is a path or pattern; words have blanks."""
    return not any(map(str.isspace, entry.strip()))


def read_never(
    reader: NodeReader, node: Node | None, check_faults: CheckFaults, *, judged: bool
) -> tuple[Criterion, ...]:
    """The criteria of a key `never`; words among them are a fault where nobody is there who could judge them."""
    if node is None:
        return ()
    entries = reader.texts(node, at_most=NEVER_MAX, characters_max=NEVER_CHARACTERS_MAX)
    criteria = never_criteria(entries)
    for entry, criterion in zip(entries, criteria, strict=True):
        if criterion.check is not None:
            for _, message in list(check_faults(criterion.check))[:1]:
                reader.fault(node, message)
        elif not judged:
            reader.fault(node, f"{entry!r} is no path, and nobody is there to judge whether it was done")
    return criteria


def joined(criteria: Sequence[Criterion], standing: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """The criteria and, once each, those that stand whatever is planned."""
    names = {one.id for one in standing}
    return (*(one for one in criteria if one.id not in names), *standing)


def _criterion(name: str, entry: str) -> Criterion:
    if not is_place(entry):
        return Criterion(id=name, text=f"This was not done: {entry}", mode=Mode.PLAUSIBLE)
    place = entry.strip().rstrip("/")
    config = {"edit": EVERY_EDIT, "never": [place, f"{place}/**"]}
    return Criterion(id=name, text=f"Nothing at {place} was touched", check=CheckSpec(kind="diff", config=config))
