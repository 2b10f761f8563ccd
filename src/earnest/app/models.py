"""Models for the roles: the endpoint that was set up, an Ollama of this machine, or none."""

from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from earnest.app.model_settings import ROLES, ModelSettings, is_loopback
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm import ollama
from earnest.effects.outside.llm.api import CompletionLimits, Endpoint, Message
from earnest.effects.outside.llm.api import MessageRole as Speaker
from earnest.engine.messages import Role
from earnest.foundation.errors import Unavailable
from earnest.memory.distilling import ANSWER_CHARACTERS_MAX, Complete

if TYPE_CHECKING:
    from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
    from earnest.runtime.model_calls import RoleModels

NOBODY: Final = (
    "no model is set up: set EARNEST_BASE_URL (such as https://HOST/v1) and EARNEST_MODEL, and EARNEST_API_KEY if it "
    "wants one, or start Ollama with a model; playbooks work without a model"
)
CLIENT_MISSING: Final = "the model client is not installed: install 'earnest[models]'"

DREAM_LIMITS: Final = CompletionLimits(silence_ms=60_000, deadline_ms=120_000, answer_tokens=1_024, attempts=1)


class ModelPool:
    """The models of all roles, found when they are first needed, their connections kept within `async with`."""

    def __init__(
        self, settings: ModelSettings, *, clock: Clock, chance: Chance, local: tuple[str, int] = ollama.ADDRESS
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._local = local
        self._open = AsyncExitStack()
        self._models: dict[str, OpenAICompatible] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def is_named(self) -> bool:
        """True if an endpoint was set up, or found by now."""
        return bool(self._settings.base_url)

    async def of_roles(self) -> "RoleModels":
        """A model for each role; roles whose models have one name share it. Raises `Unavailable`: what to set up."""
        from earnest.runtime.model_calls import PricedModel  # noqa: PLC0415 - no playbook needs it

        settings = self._settings = await self._complete(self._settings)
        if find_spec("httpx2") is None:  # no run begins that can ask nobody
            raise Unavailable(CLIENT_MISSING)
        return {
            role: PricedModel(model=await self._model(settings, name), price=settings.price_of(name))
            for role, name in ((role, settings.model_of(role)) for role in ROLES)
        }

    async def _complete(self, settings: ModelSettings) -> ModelSettings:
        """With what is found on this machine, where nothing is set. Looked for again as long as nothing is found."""
        if settings.base_url:
            return settings
        host, port = self._local
        names = await ollama.local_models(host, port)
        if not names:
            raise Unavailable(NOBODY)
        base_url = f"http://{host}:{port}/v1"  # found, not named: it is not told the key
        found = replace(settings, base_url=base_url, default=settings.default or names[0], api_key="")
        if weakness := found.weakness():
            raise Unavailable(f"[models] {weakness}")
        return found

    async def _model(self, settings: ModelSettings, name: str) -> "OpenAICompatible":
        from earnest.effects.outside.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415 - no playbook needs it

        if name not in self._models:
            endpoint = Endpoint(base_url=settings.base_url, model=name, api_key=settings.api_key)
            calls = settings.tool_calls
            model = OpenAICompatible(endpoint, clock=self._clock, chance=self._chance, may_call=calls)
            self._models[name] = await self._open.enter_async_context(model)
        return self._models[name]


def describe(settings: ModelSettings) -> list[str]:
    """A line for each model: where it answers, for which roles, at what price. Nobody is asked, no secret is told."""
    if not settings.base_url:
        host, port = ollama.ADDRESS
        return [f"{settings.default or 'the first model'} of an Ollama at {host}:{port}, if one runs there"]
    where = urlsplit(settings.base_url).netloc.rpartition("@")[2]
    names = dict.fromkeys(settings.model_of(role) for role in ROLES)
    roles = {name: ", ".join(role for role in ROLES if settings.model_of(role) == name) for name in names}
    return [f"{name} at {where} for {roles[name]}; {_priced(settings, name)}" for name in names]


def _priced(settings: ModelSettings, name: str) -> str:
    price = settings.price_of(name)
    if price is None:
        return "its price is not known"
    if price.is_free:
        return "free, on this machine" if is_loopback(settings.base_url) else "free"
    amounts = f"{price.prompt_micro_per_mtok} and {price.completion_micro_per_mtok} millionths for 1,000,000 tokens"
    return f"{amounts} in and out{'' if name in settings.prices else ', as a guess'}"


def distiller_for(pool: ModelPool, clock: Clock, chance: Chance) -> Complete | None:
    """Only an endpoint that somebody named is asked between runs: an Ollama that happens to be there is not."""
    if not pool.is_named:
        return None

    async def complete(prompt: str) -> str:
        planner = (await pool.of_roles())[Role.R2].model
        message = Message(role=Speaker.USER, text=prompt)
        call_id = f"dream_{chance.new_id(clock.now_ms())}"
        completion = await planner.complete([message], call_id=call_id, limits=DREAM_LIMITS)
        return completion.text[:ANSWER_CHARACTERS_MAX]

    return complete
