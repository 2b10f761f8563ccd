"""What an offer must hold before it may be posted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.contracts.criterion import CheckFaults
from earnest.contracts.spec import FORMAT, Acceptance, VerificationSpec, spec_of_json
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Faulty, Refused
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.jobs.categories import category_fault
from earnest.market.jobs.job import TaskClass
from earnest.market.jobs.tags import Tags, read_tags, tagged, with_checks
from earnest.market.terms import OWN, Terms
from earnest.verification.paths import path_fault

WHOLE: Final = "."
"""The path of an archive that holds everything."""

REQUIREMENTS_MAX: Final = 20
ITEM_BYTES_MAX: Final = 64 * 1024 * 1024
EVIDENCE_KINDS: Final = (
    "artifact",
    "text",
    "json",
    "test_result",
    "command_log",
    "url_snapshot",
    "attestation",
    "human_signoff",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing to hand in. `path` is where it lies in what is judged; `.`: it is an archive of all of it."""

    id: str
    kind: str
    description: str
    path: str
    required: bool = True
    accept_media: tuple[str, ...] = ()
    max_bytes: int = ITEM_BYTES_MAX
    verifier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What somebody wants done, as they sent it. `files`: path → digest of an artifact of theirs, for the checks."""

    title: str
    text: str
    category: str
    task_class: TaskClass
    currency: str
    amount_micro: int
    acceptance: Acceptance | None
    criteria: tuple[JsonObject, ...]
    requirements: tuple[Requirement, ...]
    files: Mapping[str, str]
    work_s: int
    closes_at_ms: int | None = None
    deadline_at_ms: int | None = None
    apply_window_s: int = 0
    grace_s: int | None = None
    auto_extend: bool = False
    auto_release_s: int | None = None
    revise_s: int | None = None
    revisions_max: int | None = None
    redo_of: str | None = None


def spec_of(offer: Offer, kinds: Collection[str], check_faults: CheckFaults) -> tuple[VerificationSpec, Tags]:
    """The spec that an offer is, and its tags. Raises `Refused` (`validation`, `unknown_check`), with `errors`.

    Without `acceptance`, machines decide where each criterion has a check, of its own or by a tag; else the creator,
    or, for ai$, a person by a rubric: an agent's word alone moves none (agents ruling §1).
    """
    tags = read_tags(f"{offer.title}\n{offer.text}", kinds)
    artifacts = {one.path: one.kind for one in offer.requirements if one.path != WHOLE}
    by_machine = tags.verifier not in {"", "human"} or all("check" in one for one in offer.criteria)
    by_people = Acceptance.HUMAN if offer.currency == OWN or tags.verifier == "human" else Acceptance.PROPOSER
    acceptance = offer.acceptance or (Acceptance.MACHINE if by_machine else by_people)
    loose = Acceptance.PROPOSER if acceptance is Acceptance.MACHINE else acceptance  # tags may yet name its checks
    document: JsonObject = {
        "format": FORMAT,
        "title": offer.title,
        "text": offer.text,
        "acceptance": loose.value,
        "criteria": list(offer.criteria),
    }
    try:
        spec = spec_of_json(document, "job", check_faults=check_faults)
    except Faulty as faulty:
        errors = [{"code": "validation", "detail": each.message} for each in faulty.diagnostics]
        raise Refused("validation", str(faulty.diagnostics[0].message), errors=errors) from None
    spec = tagged(replace(spec, acceptance=acceptance), tags, artifacts)
    if spec.acceptance is Acceptance.HUMAN:
        spec = with_checks(spec, "human", artifacts)
    unchecked = [one.id for one in spec.criteria if one.check is None]
    if spec.acceptance is Acceptance.MACHINE and unchecked:
        raise Refused("validation", f"acceptance is machine, and no check decides {', '.join(unchecked)}")
    return spec, tags


def check_requirements(requirements: Sequence[Requirement]) -> None:
    """Raises `Refused("validation")` for requirements that cannot be told apart or laid out."""
    if not any(one.required for one in requirements) or len(requirements) > REQUIREMENTS_MAX:
        raise Refused("validation", f"a job asks for 1 to {REQUIREMENTS_MAX} things, at least one of them required")
    for what, names in (("id", [one.id for one in requirements]), ("path", [one.path for one in requirements])):
        if len(set(names)) != len(names):
            raise Refused("validation", f"two evidence requirements have the same {what}")
    for one in requirements:
        if one.kind not in EVIDENCE_KINDS:
            raise Refused("validation", f"{one.id}: kind must be one of {', '.join(EVIDENCE_KINDS)}")
        if one.path == WHOLE and len(requirements) > 1:
            raise Refused("validation", f"{one.id}: an archive of everything is the only thing that is handed in")
        if one.path != WHOLE:
            _check_path(one.path, [other.path for other in requirements], one.id)


def check_files(files: Mapping[str, str]) -> None:
    """Raises `Refused("validation")` for a path that leads elsewhere or to another file's place."""
    for path in files:
        _check_path(path, files, "files")


def _check_path(path: str, others: Collection[str], place: str) -> None:
    if fault := path_fault(path):
        raise Refused("validation", f"{place}: {fault}")
    if any(other.startswith(f"{path}/") for other in others):
        raise Refused("validation", f"{place}: {path!r} is a file and a folder")


def check_category(text: str) -> None:
    """Raises `Refused("validation")` for what is no category."""
    if fault := category_fault(text):
        raise Refused("validation", f"category {fault}")


def check_price(currency: str, amount_micro: int, terms: Terms) -> int:
    """The fee in basis points. Raises `Refused("validation")` for an unknown currency or an amount out of range."""
    if currency not in terms.currencies:
        raise Refused("validation", f"currency must be one of {', '.join(sorted(terms.currencies))}")
    if not 0 <= amount_micro <= AMOUNT_MICRO_MAX:
        raise Refused("validation", f"amount_micro must be from 0 to {AMOUNT_MICRO_MAX}")
    return terms.currencies[currency].fee_bps


def missing(requirements: Collection[Requirement], given: Mapping[str, object]) -> list[str]:
    """The ids of required things that were not handed in."""
    return [one.id for one in requirements if one.required and one.id not in given]
