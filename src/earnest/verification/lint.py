"""Trial of a spec with work that is worth nothing, before anybody works by it.

Every reproducible check is run on nothing and on junk, and must say no to all of it. What it names is guessed from its
config: every text in it that could be a path.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from earnest.contracts.criterion import Criterion
from earnest.verification.paths import path_fault, texts_of
from earnest.verification.plugin import Check, is_reproducible
from earnest.verification.verdict import Answer, Cause, CriterionVerdict

NAMES_MAX: Final = 200
NAME_CHARACTERS_MAX: Final = 200
GLOB_FILES: Final = 3
_RANDOM: Final = b"kq vzu 7 xw-jopr. 4417 tlmbe ghaqo; bud 0.318 esz!\nwoc nuy rif, zet 92 plo qua hjk.\n"


class Junk(NamedTuple):
    """A submission that is worth nothing, and what it is called."""

    name: str
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """What lint says about one criterion. `is_grave`: the spec is refused for it; else somebody should know.

    `is_untried`: its check could have been tried, and our side failed.
    """

    criterion: str
    message: str
    line: int = 0
    is_grave: bool = True
    is_untried: bool = False


async def complaints(
    criteria: Sequence[tuple[Criterion, Check | None]],
    spec_text: bytes,
    judged: Callable[[Criterion, Junk], Awaitable[CriterionVerdict]],
) -> list[Complaint]:
    """What is wrong with checks that have no fault. One that cannot be tried (no sandbox) is named, not passed over."""
    found: list[Complaint] = []
    for criterion, check in criteria:
        if check is None or criterion.check is None:
            message = "no check decides it: it waits for a person"
            found.append(Complaint(criterion=criterion.id, message=message, is_grave=False))
        elif not is_reproducible(check):
            message = f"{check.kind} asks a model, a person or the world, and cannot be tried"
            found.append(Complaint(criterion=criterion.id, message=message, line=criterion.check.line, is_grave=False))
        else:
            complaint = await _complaint(criterion, criterion.check.line, spec_text, judged)
            found.extend([complaint] if complaint else [])
    kinds = {check.kind for _, check in criteria if check is not None}
    if kinds == {"checklist"}:
        message = "nothing but a checklist decides: it proves that the evidence is consistent, not that it is true"
        found.append(Complaint(criterion=criteria[0][0].id, message=message, is_grave=False))
    return found


async def _complaint(
    criterion: Criterion,
    line: int,
    spec_text: bytes,
    judged: Callable[[Criterion, Junk], Awaitable[CriterionVerdict]],
) -> Complaint | None:
    """The first junk that the check does not refuse."""
    for junk in junk_for(criterion, spec_text):
        verdict = await judged(criterion, junk)
        if verdict.answer is Answer.NOT_VERIFIED:
            continue
        if verdict.answer is Answer.UNCLEAR and verdict.cause is Cause.VERIFIER:
            message = f"its check could not be tried: {verdict.reason}"
            return Complaint(criterion=criterion.id, message=message, line=line, is_grave=False, is_untried=True)
        how = "accepts" if verdict.answer is Answer.VERIFIED else "does not refuse"
        return Complaint(criterion=criterion.id, message=f"its check {how} {junk.name}: {verdict.reason}", line=line)
    return None


def junk_for(criterion: Criterion, spec_text: bytes) -> list[Junk]:
    """Submissions that no check may accept."""
    names = _names(criterion)
    contents = {
        "empty files": b"",
        "random text": _RANDOM,
        "the criterion's own text": criterion.text.encode(),
        "a copy of the spec": spec_text,
        "an empty JSON object": b"{}",
        "an empty JSON list": b"[]",
    }
    filled = [
        Junk(f"{what} under the names it asks for", dict.fromkeys(names, data)) for what, data in contents.items()
    ]
    return [Junk("an empty submission", {}), *(filled if names else ())]


def _names(criterion: Criterion) -> list[str]:
    """The names that a check may look for; none lies below another."""
    config = criterion.check.config if criterion.check else {}
    found: dict[str, None] = {}
    for text in texts_of(config):
        found.update(dict.fromkeys(name for name in _variants(text) if path_fault(name) is None))
    names = list(found)[:NAMES_MAX]
    folded = {name.casefold(): name for name in names}
    return [name for name in folded.values() if not any(other.startswith(name.casefold() + "/") for other in folded)]


def _variants(text: str) -> Iterator[str]:
    """A path as it is, a few files for a glob, a file for a module."""
    if not text or len(text) > NAME_CHARACTERS_MAX or not text.isprintable() or text != text.strip():
        return
    if any(mark in text for mark in "*?["):
        for at in range(GLOB_FILES):
            yield text.replace("**/", "").replace("**", f"x{at}").replace("*", f"x{at}").replace("?", "x")
    else:
        yield text
        if all(part.isidentifier() for part in text.split(".")):
            yield text.replace(".", "/") + ".py"
