"""Settings of models: which one works for which role, at what price and within what bounds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from earnest.engine.messages import Role
from earnest.engine.spending import Price
from earnest.foundation.errors import Diagnostic

ROLES: Final = (Role.R1, Role.R2, Role.R3, Role.R4A, Role.R4B, Role.R5, Role.R7)
ENVIRONMENT: Final = {"base_url": "EARNEST_BASE_URL", "api_key": "EARNEST_API_KEY", "default": "EARNEST_MODEL"} | {
    role: f"EARNEST_MODEL_{role.upper()}" for role in ROLES
}
BOUNDS: Final = {"max_tokens": (1_000, 10**9), "max_calls": (1, 10_000), "max_cost_micro": (0, 10**12)}
PRICE_MICRO_MAX: Final = 10**12
_PRICE_KEYS: Final = ("prompt_micro_per_mtok", "completion_micro_per_mtok")

Fault = Callable[[str, str], None]
"""Notes a fault, and the key at whose line it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The table `[models]`. Without `base_url` an Ollama of this machine is looked for."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    default: str = ""
    """The model of every role that `roles` does not name."""
    roles: Mapping[Role, str] = field(default_factory=dict)
    strength: tuple[str, ...] = ()
    """The models from the weakest to the strongest; empty: they are not compared."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    unknown_price: Price | None = None
    """What a model that has none is taken to cost; None: nobody knows."""
    max_tokens: int = 1_000_000
    """What a run may spend, unless its order says otherwise."""
    max_calls: int = 200
    max_cost_micro: int | None = None
    tool_calls: bool = True
    """Whether a model may call tools in the endpoint's own form; it is told as text where that is not known there."""

    def model_of(self, role: Role) -> str:
        """The name of the role's model; empty if none is set."""
        return self.roles.get(role, self.default)

    def price_of(self, model: str) -> Price | None:
        """As it is set; else nothing on one's own machine; else the pessimistic one."""
        if model not in self.prices and is_loopback(self.base_url):
            return Price(prompt_micro_per_mtok=0, completion_micro_per_mtok=0)
        return self.prices.get(model, self.unknown_price)

    def weakness(self) -> str:
        """Why R4b, which judges what R2 planned, must not have its model; empty if it may."""
        planner, judge = self.model_of(Role.R2), self.model_of(Role.R4B)
        if not self.strength or not planner or not judge or planner == judge:
            return ""
        for role, name in (("R2", planner), ("R4b", judge)):
            if name not in self.strength:
                return f"{name!r}, the model of {role}, is not in strength, so nobody knows whether R4b's is too weak"
        if self.strength.index(judge) < self.strength.index(planner):
            return f"{judge!r} of R4b is weaker than {planner!r} of R2, whose plans it judges"
        return ""


def read_models(given: object, environment: Mapping[str, str], fault: Fault, faults: list[Diagnostic]) -> ModelSettings:
    """The table `[models]`, over which the environment wins. What is wrong in a variable goes to `faults`."""
    if not isinstance(given, dict):
        fault("models must be a table, [models]", "models")
        return ModelSettings()
    values: dict[str, Any] = {name: value for name, value in given.items() if name in ENVIRONMENT}
    for name in list(values):
        if not isinstance(values[name], str) or not values[name].strip():
            fault(f"[models] {name} must be a text", name)
            del values[name]
    for name, variable in ENVIRONMENT.items():
        if text := environment.get(variable, "").strip():
            values[name] = text
            if name == "base_url" and not _is_address(text):
                faults.append(Diagnostic(source=variable, line=0, message=_NO_ADDRESS))
    roles = {role: values.pop(role) for role in ROLES if role in values}
    values |= dict(_others(given, fault))
    settings = ModelSettings(roles=roles, tool_calls=_switch(given, "tool_calls", fault), **values)
    if "base_url" in given and not environment.get(ENVIRONMENT["base_url"]) and not _is_address(settings.base_url):
        fault(f"[models] {_NO_ADDRESS}", "base_url")
    if settings.base_url and not settings.default:
        fault(f"[models] base_url is given without default ({ENVIRONMENT['default']})", "base_url")
    if weakness := settings.weakness():
        fault(f"[models] {weakness}", "strength")
    return settings


def _switch(given: Mapping[str, Any], name: str, fault: Fault) -> bool:
    """On, unless it is switched off."""
    value = given.get(name, True)
    if not isinstance(value, bool):
        fault(f"[models] {name} is {value!r}: it must be true or false", name)
    return value is not False


def _others(given: Mapping[str, Any], fault: Fault) -> Iterator[tuple[str, Any]]:
    """The keys that no variable sets."""
    for name, value in given.items():
        if name in ENVIRONMENT or name == "tool_calls":
            continue
        if name in BOUNDS:
            low, high = BOUNDS[name]
            if type(value) is int and low <= value <= high:
                yield name, value
            else:
                fault(f"[models] {name} is {value!r}: it must be a whole number from {low} to {high}", name)
        elif name == "strength":
            if isinstance(value, list) and all(isinstance(one, str) for one in value) and len(set(value)) == len(value):
                yield name, tuple(value)
            else:
                fault("[models] strength must be a list of names, the weakest first, none twice", name)
        elif name == "unknown_price":
            yield name, _price(value, "models.unknown_price", fault)
        elif name == "prices" and isinstance(value, dict):
            prices = {model: _price(price, f'models.prices."{model}"', fault) for model, price in value.items()}
            yield name, {model: price for model, price in prices.items() if price}
        else:
            known = ", ".join(
                [*ENVIRONMENT, *BOUNDS, "strength", "tool_calls", "unknown_price", "[models.prices.NAME]"]
            )
            fault(f"[models] {name} is not one of {known}", name)


def _price(value: object, table: str, fault: Fault) -> Price | None:
    if isinstance(value, dict) and set(value) == set(_PRICE_KEYS):
        amounts = [value[key] for key in _PRICE_KEYS]
        if all(type(amount) is int and 0 <= amount <= PRICE_MICRO_MAX for amount in amounts):
            return Price(prompt_micro_per_mtok=amounts[0], completion_micro_per_mtok=amounts[1])
    fault(f"[{table}] must hold {' and '.join(_PRICE_KEYS)}, whole numbers from 0 to {PRICE_MICRO_MAX}", table)
    return None


_NO_ADDRESS: Final = "base_url must be http(s)://HOST[:PORT]/PATH"


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def is_loopback(base_url: str) -> bool:
    """True for an endpoint on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
