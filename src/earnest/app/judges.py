"""The model that judges, as the operator set it up."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from urllib.parse import urlsplit

from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm.api import ChatModel, Endpoint
from earnest.foundation.errors import Diagnostic
from earnest.verification.plugin import Judges, Reviews

ENVIRONMENT: Final = {
    "base_url": "VERIFY_LLM_BASE_URL",
    "model": "VERIFY_LLM_MODEL",
    "api_key": "VERIFY_LLM_API_KEY",
    "may_judge_itself": "VERIFY_LLM_MAY_JUDGE_ITSELF",
}
TRUTH: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The model that judges what no machine can; without `base_url` and `model` such criteria wait for a person."""

    base_url: str = ""
    """An OpenAI-compatible endpoint, as `http://127.0.0.1:11434/v1`."""
    model: str = ""
    """The model's name there."""
    api_key: str = field(default="", repr=False)
    """Sent as a bearer token if given."""
    may_judge_itself: bool = False
    """Let it judge work that the same model did."""


def read_judge(table: object, environment: Mapping[str, str], source: str, faults: list[Diagnostic]) -> JudgeSettings:
    """The settings of the table `[judge]`, over which the environment wins. Faults are added to `faults`."""
    values: dict[str, Any] = {}
    kinds = {one.name: type(one.default) for one in fields(JudgeSettings)}
    for name, value in table.items() if isinstance(table, dict) else ():
        if name not in kinds or type(value) is not kinds[name]:
            known = ", ".join(f"{key} ({kind.__name__})" for key, kind in kinds.items())
            faults.append(Diagnostic(source=source, line=0, message=f"[judge] {name} is not one of {known}"))
        else:
            values[name] = value
    for name, variable in ENVIRONMENT.items():
        given = environment.get(variable, "").strip()
        if given and kinds[name] is bool and given.lower() not in TRUTH:
            faults.append(Diagnostic(source=variable, line=0, message=f"{given!r} is neither true nor false"))
        elif given:
            values[name] = TRUTH[given.lower()] if kinds[name] is bool else given
    judge = JudgeSettings(**values)
    faults.extend(Diagnostic(source=source, line=0, message=f"[judge] {fault}") for fault in _faults(judge))
    return judge


def _faults(judge: JudgeSettings) -> list[str]:
    if bool(judge.base_url) != bool(judge.model):
        given, missing = ("base_url", "model") if judge.base_url else ("model", "base_url")
        return [f"{given} is given without {missing}"]
    try:
        parts = urlsplit(judge.base_url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    return ["base_url must be http(s)://HOST[:PORT]/PATH"] if judge.base_url and not is_address else []


def judges_for(judge: JudgeSettings, clock: Clock, chance: Chance, reviews: Reviews) -> Judges:
    """What checks may ask: the model, if one is set up, and people."""
    model = _model(judge, clock, chance) if judge.model else None
    return Judges(model=model, reviews=reviews, chance=chance, may_judge_itself=judge.may_judge_itself)


def _model(judge: JudgeSettings, clock: Clock, chance: Chance) -> ChatModel:
    from earnest.effects.outside.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415 - not everybody has a judge

    endpoint = Endpoint(base_url=judge.base_url, model=judge.model, api_key=judge.api_key)
    return OpenAICompatible(endpoint, clock=clock, chance=chance)
