"""Settings of models: which one works for which role, at what price and within what bounds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated, Final
from urllib.parse import urlsplit

from earnest.app.tables import ADDRESS, Fault, is_address, over, read_table
from earnest.engine.messages import Role
from earnest.engine.spending import Price
from earnest.foundation.bounds import Fitting, Whole
from earnest.foundation.errors import Diagnostic

ROLES: Final = (Role.R1, Role.R2, Role.R3, Role.R4A, Role.R4B, Role.R5, Role.R7)
ENVIRONMENT: Final = {"base_url": "EARNEST_BASE_URL", "api_key": "EARNEST_API_KEY", "default": "EARNEST_MODEL"} | {
    role: f"EARNEST_MODEL_{role.upper()}" for role in ROLES
}
PRICE_MICRO_MAX: Final = 10**12
_PRICE_KEYS: Final = ("prompt_micro_per_mtok", "completion_micro_per_mtok")

_TEXT: Final = Fitting(lambda text: bool(text.strip()), "a text")
_ROLES: Final = Fitting(lambda _: False, f"given as {', '.join(ROLES)}")
_STRENGTH: Final = Fitting(
    lambda names: len(set(names)) == len(names), "a list of names, the weakest first, none twice"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The table `[models]`. Without `base_url` an Ollama of this machine is looked for."""

    base_url: Annotated[str, ADDRESS] = ""
    api_key: Annotated[str, _TEXT] = field(default="", repr=False)
    default: Annotated[str, _TEXT] = ""
    """The model of every role that `roles` does not name."""
    roles: Annotated[Mapping[Role, str], _ROLES] = field(default_factory=dict)
    strength: Annotated[tuple[str, ...], _STRENGTH] = ()
    """The models from the weakest to the strongest; empty: they are not compared."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    unknown_price: Price | None = None
    """What a model that has none is taken to cost; None: nobody knows."""
    max_tokens: Annotated[int, Whole(1_000, 10**9)] = 1_000_000
    """What a run may spend, unless its order says otherwise."""
    max_calls: Annotated[int, Whole(1, 10_000)] = 200
    max_cost_micro: Annotated[int | None, Whole(0, 10**12)] = None
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

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together, each in words and with its key."""
        if self.base_url and not self.default:
            yield f"base_url is given without default ({ENVIRONMENT['default']})", "base_url"
        if weakness := self.weakness():
            yield weakness, "strength"


def read_models(given: object, environment: Mapping[str, str], fault: Fault, faults: list[Diagnostic]) -> ModelSettings:
    """The table `[models]`, over which the environment wins. What is wrong in a variable goes to `faults`."""
    table = over(given, ModelSettings, ENVIRONMENT, environment)
    if not isinstance(table, dict):
        return read_table(table, ModelSettings(), "models", fault)
    address = environment.get(ENVIRONMENT["base_url"], "").strip()
    if address and not is_address(address):
        faults.append(Diagnostic(source=ENVIRONMENT["base_url"], line=0, message=f"base_url must be {ADDRESS.wanted}"))
        del table["base_url"]
    roles = {role: table[role] for role in ROLES if role in table}
    for role in [role for role, model in roles.items() if not (isinstance(model, str) and model.strip())]:
        fault(f"[models] {role} must be a text", role)
        del roles[role]
    prices, unknown = table.get("prices", {}), table.get("unknown_price")
    if not isinstance(prices, dict):
        fault("[models] prices must be tables, [models.prices.NAME]", "prices")
        prices = {}
    read = {model: _price(price, f'models.prices."{model}"', fault) for model, price in prices.items()}
    default = ModelSettings(
        roles=roles,
        prices={model: price for model, price in read.items() if price},
        unknown_price=None if unknown is None else _price(unknown, "models.unknown_price", fault),
    )
    return read_table(table, default, "models", fault, beside=(*ROLES, "prices", "unknown_price"))


def _price(value: object, table: str, fault: Fault) -> Price | None:
    if isinstance(value, dict) and set(value) == set(_PRICE_KEYS):
        amounts = [value[key] for key in _PRICE_KEYS]
        if all(type(amount) is int and 0 <= amount <= PRICE_MICRO_MAX for amount in amounts):
            return Price(prompt_micro_per_mtok=amounts[0], completion_micro_per_mtok=amounts[1])
    fault(f"[{table}] must hold {' and '.join(_PRICE_KEYS)}, whole numbers from 0 to {PRICE_MICRO_MAX}", table)
    return None


def is_loopback(base_url: str) -> bool:
    """True for an endpoint on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
