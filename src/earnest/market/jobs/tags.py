"""Tags in a job's title and text, `[verifier:json_list]`, and the checks that bare ones stand for.

They are read here, once; afterwards they are fields (verification ruling §2, agents ruling §1).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.spec import Acceptance, VerificationSpec
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.verification.registry import ALIASES

_TAG: Final = re.compile(r"\[\s?(verifier|reviewer|archetype)\s?:([^\]\n]{1,80})\]", re.IGNORECASE)
_CODE: Final = re.compile(r"`([^`\n]{1,100})`")
_JSON: Final = ".json"
RUBRIC_POINTS: Final = 10
RUBRIC_THRESHOLD: Final = 6
"""A criterion that a person judges is met from so many points on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """`verifier` and `archetype` are empty where no tag says; `creator_reviews`: the creator decides."""

    verifier: str = ""
    archetype: str = ""
    creator_reviews: bool = False


def read_tags(text: str, kinds: Collection[str]) -> Tags:
    """The tags in a job's title and text; blanks and case are forgiven.

    Raises `Refused`: `unknown_check` for a verifier that is none of `kinds`, `validation` for two that differ and for a
    reviewer other than `creator`.
    """
    verifier, archetype, creator_reviews = "", "", False
    for word, given in _TAG.findall(text):
        value = "_".join(given.casefold().replace("-", " ").split())
        match word.casefold():
            case "archetype":
                archetype = value
            case "reviewer":
                if value != "creator":
                    message = f"[reviewer:{given.strip()}]: the only reviewer that a tag can name is creator"
                    raise Refused("validation", message)
                creator_reviews = True
            case _:
                kind = _kind(value, kinds)
                if verifier not in {"", kind}:
                    raise Refused("validation", f"two verifiers are named: {verifier} and {kind}")
                verifier = kind
    creator_reviews = creator_reviews or verifier == "proposer_review"
    return Tags(verifier=verifier, archetype=archetype, creator_reviews=creator_reviews)


def tagged(spec: VerificationSpec, tags: Tags, artifacts: Mapping[str, str]) -> VerificationSpec:
    """The spec as its tags mean it: a named verifier decides every criterion without a check.

    `artifacts`: the path of everything that is to be handed in, and what kind of thing it is.
    """
    if tags.creator_reviews:
        return replace(spec, acceptance=Acceptance.PROPOSER)
    return with_checks(spec, tags.verifier, artifacts) if tags.verifier else spec


def with_checks(spec: VerificationSpec, kind: str, artifacts: Mapping[str, str]) -> VerificationSpec:
    """The spec with a check of this kind wherever a criterion has none."""
    criteria = (
        one if one.check else replace(one, check=CheckSpec(kind=kind, config=_config(kind, one, artifacts)))
        for one in spec.criteria
    )
    return replace(spec, criteria=tuple(criteria))


def _kind(value: str, kinds: Collection[str]) -> str:
    kind = ALIASES.get(value, value)
    if kind not in kinds:
        raise Refused("unknown_check", f"[verifier:{value}] is no kind of check; known: {', '.join(sorted(kinds))}")
    return kind


def _config(kind: str, criterion: Criterion, artifacts: Mapping[str, str]) -> JsonObject:
    """What a bare tag says of one criterion: which artifacts it names, and what in them by words in backticks.

    Of a kind that needs more than that (a command, tests, columns nobody named) the config lacks it, and the check's
    own faults say what to give.
    """
    files = _files(criterion, artifacts)
    words: list[JsonValue] = [word for word in _CODE.findall(criterion.text) if word not in artifacts]
    as_json = next((path for path in files if path.endswith(_JSON) or artifacts[path] == "json"), "")
    path: JsonObject = {"path": files[0]} if files else {}
    in_json: JsonObject = {"path": as_json} if as_json else path
    rubric: JsonObject = {"criterion": criterion.text, "points": RUBRIC_POINTS, "threshold": RUBRIC_THRESHOLD}
    configs: Mapping[str, JsonObject] = {
        "llm_judge": {"files": files or ["**"]},
        "json_list": in_json,
        "json_schema": {**in_json, "schema": {"type": "object", "minProperties": 1, "required": words}},
        "md_table": {**path, "columns": words} if words else path,
        "checklist": path,
        "files": {"required": [{"path": each, "min_bytes": 1} for each in files]},
        "human": {"rubric": [rubric]},
    }
    return configs.get(kind, {})


def _files(criterion: Criterion, artifacts: Mapping[str, str]) -> Sequence[str]:
    """The artifacts that a criterion names; all of them where it names none."""
    named = [path for path in artifacts if path in criterion.text]
    return named or list(artifacts)
