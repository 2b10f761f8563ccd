"""The model that judges, as the operator set it up."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from earnest.app.tables import ADDRESS, Fault, over, read_table
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm.api import ChatModel, Endpoint
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

    base_url: Annotated[str, ADDRESS] = ""
    """An OpenAI-compatible endpoint, as `http://127.0.0.1:11434/v1`."""
    model: str = ""
    """The model's name there."""
    api_key: str = field(default="", repr=False)
    """Sent as a bearer token if given."""
    may_judge_itself: bool = False
    """Let it judge work that the same model did."""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together, each in words and with its key."""
        if bool(self.base_url) != bool(self.model):
            given, missing = ("base_url", "model") if self.base_url else ("model", "base_url")
            yield f"{given} is given without {missing}", given


def read_judge(table: object, environment: Mapping[str, str], fault: Fault) -> JudgeSettings:
    """The table `[judge]`, over which the environment wins; what is wrong goes to `fault`."""
    given = over(table, ENVIRONMENT, environment)
    if (may := environment.get(ENVIRONMENT["may_judge_itself"], "").strip()) and isinstance(given, dict):
        given["may_judge_itself"] = TRUTH.get(may.lower(), may)
    return read_table(given, JudgeSettings(), "judge", fault)


def judges_for(judge: JudgeSettings, clock: Clock, chance: Chance, reviews: Reviews) -> Judges:
    """What checks may ask: the model, if one is set up, and people."""
    model = _model(judge, clock, chance) if judge.model else None
    return Judges(model=model, reviews=reviews, chance=chance, may_judge_itself=judge.may_judge_itself)


def _model(judge: JudgeSettings, clock: Clock, chance: Chance) -> ChatModel:
    from earnest.effects.outside.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415 - not everybody has a judge

    endpoint = Endpoint(base_url=judge.base_url, model=judge.model, api_key=judge.api_key)
    return OpenAICompatible(endpoint, clock=clock, chance=chance)
