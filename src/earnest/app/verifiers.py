"""Verifiers as they are set up: what checks may ask, which are distrusted, where verdicts are kept."""

from earnest.app import places
from earnest.app.judging_settings import JudgeSettings, JudgingSettings
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.hands.sandbox.api import MIB, Sandbox
from earnest.effects.outside.llm.api import ChatModel, Endpoint
from earnest.effects.outside.probes.measuring import OperatorProbes
from earnest.runtime.verdict_book import VerdictBook
from earnest.verification.plugin import Judges, Reviews
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier


def verifier_for(
    settings: JudgingSettings, sandbox: Sandbox, *, clock: Clock, chance: Chance, reviews: Reviews
) -> Verifier:
    """A verifier with the operator's probes and judge. What once disagreed with itself decides nothing alone."""
    return Verifier(
        registry=Registry(),
        sandbox=sandbox,
        clock=clock,
        probes=OperatorProbes(settings.probes, clock),
        judges=judges_for(settings.judge, clock, chance, reviews),
        distrusted=verdict_book(settings).distrusted(),
    )


def judges_for(judge: JudgeSettings, clock: Clock, chance: Chance, reviews: Reviews) -> Judges:
    """What checks may ask: the model, if one is set up, and people."""
    model: ChatModel | None = None
    if judge.model:
        from earnest.effects.outside.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415 - not everybody has a judge

        endpoint = Endpoint(base_url=judge.base_url, model=judge.model, api_key=judge.api_key)
        model = OpenAICompatible(endpoint, clock=clock, chance=chance)
    return Judges(model=model, reviews=reviews, chance=chance, may_judge_itself=judge.may_judge_itself)


def bare_verifier(clock: Clock, sandbox: Sandbox | None = None) -> Verifier:
    """One that asks nobody, and runs nothing without a sandbox."""
    return Verifier(registry=Registry(), sandbox=sandbox, clock=clock)


def verdict_book(settings: JudgingSettings) -> VerdictBook:
    """Where verdicts are kept. Nothing is made before the first."""
    return VerdictBook(places.verdicts(settings.home), settings.verdicts_mb * MIB)
