"""What must an offer hold before it may be posted, and what do its tags say?

Tags are parsed here, once; afterwards they are fields (verification ruling §2).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.contracts.criterion import CheckFaults, CheckSpec
from earnest.contracts.spec import FORMAT, Acceptance, VerificationSpec, spec_of_json
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Faulty, Refused
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.jobs.job import TaskClass
from earnest.market.terms import Terms
from earnest.verification.paths import path_fault
from earnest.verification.registry import ALIASES

_TAG: Final = re.compile(r"\[(verifier|reviewer|archetype):([^\]\s]{1,64})\]")
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
class Tags:
    """`verifier` and `archetype` are empty where no tag says; `creator_reviews`: the creator decides."""

    verifier: str = ""
    archetype: str = ""
    creator_reviews: bool = False


def read_tags(text: str, kinds: Collection[str]) -> Tags:
    """The tags in a job's title and text.

    Raises `Refused`: `unknown_check` for a verifier that is none of `kinds`, `validation` for two that differ and for a
    reviewer other than `creator`.
    """
    verifier, archetype, creator_reviews = "", "", False
    for word, value in _TAG.findall(text):
        if word == "archetype":
            archetype = value
        elif word == "reviewer":
            if value != "creator":
                raise Refused("validation", f"[reviewer:{value}]: the only reviewer that a tag can name is creator")
            creator_reviews = True
        else:
            kind = ALIASES.get(value, value)
            if kind not in kinds:
                raise Refused(
                    "unknown_check", f"[verifier:{value}] is no kind of check; known: {', '.join(sorted(kinds))}"
                )
            if verifier not in {"", kind}:
                raise Refused("validation", f"two verifiers are named: {verifier} and {kind}")
            verifier = kind
    return Tags(
        verifier=verifier, archetype=archetype, creator_reviews=creator_reviews or verifier == "proposer_review"
    )


def tagged(spec: VerificationSpec, tags: Tags) -> VerificationSpec:
    """The spec as its tags mean it: a named verifier decides every criterion without a check."""
    if tags.creator_reviews:
        return replace(spec, acceptance=Acceptance.PROPOSER)
    if not tags.verifier:
        return spec
    check = CheckSpec(kind=tags.verifier)
    return replace(spec, criteria=tuple(one if one.check else replace(one, check=check) for one in spec.criteria))


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

    Without `acceptance`, machines decide where each criterion has a check, else the creator.
    """
    tags = read_tags(f"{offer.title}\n{offer.text}", kinds)
    acceptance = offer.acceptance or (
        Acceptance.MACHINE if all("check" in one for one in offer.criteria) else Acceptance.PROPOSER
    )
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
    spec = tagged(replace(spec, acceptance=acceptance), tags)
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
