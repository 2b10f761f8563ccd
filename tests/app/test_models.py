"""Does each role get the model it was set up with, at its price, and does everybody else learn what to set?"""

from pathlib import Path

import pytest

from earnest.app.model_settings import ROLES, ModelSettings
from earnest.app.models import ModelPool, describe
from earnest.app.settings import read_settings
from earnest.effects.ground.clock import SeededChance, SystemClock
from earnest.effects.outside.llm.api import Message
from earnest.effects.outside.llm.api import MessageRole as Speaker
from earnest.effects.outside.llm.ollama import local_models
from earnest.engine.messages import Role
from earnest.engine.spending import Price
from earnest.foundation.errors import Faulty, Unavailable
from earnest.testing.model_server import ModelServer, ScriptedReply, fails, refused_url, says

FREE = Price(prompt_micro_per_mtok=0, completion_micro_per_mtok=0)
DEAR = Price(prompt_micro_per_mtok=9, completion_micro_per_mtok=10)
HELLO = (Message(role=Speaker.USER, text="Hello?"),)


def read(home: Path, text: str, **environment: str) -> ModelSettings:
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return read_settings({"EARNEST_HOME": str(home), **environment}).models


def pool(settings: ModelSettings, base_url: str = "") -> ModelPool:
    address = (base_url or refused_url()).split("/")[2].split(":")
    local = (address[0], int(address[1]))
    return ModelPool(settings, clock=SystemClock(), chance=SeededChance(), local=local)


def test_everything_may_stand_in_the_file_and_the_environment_wins(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
        [models]
        base_url = "https://models.example/v1"
        default = "medium"
        R1 = "small"
        R4b = "large"
        strength = ["small", "medium", "large"]
        max_tokens = 5000
        max_cost_micro = 70
        [models.unknown_price]
        prompt_micro_per_mtok = 9
        completion_micro_per_mtok = 10
        [models.prices."large"]
        prompt_micro_per_mtok = 1
        completion_micro_per_mtok = 2
        """,
        EARNEST_MODEL_R1="medium",
        EARNEST_MODEL_R4A="large",
        EARNEST_API_KEY="secret-1",
    )
    assert [settings.model_of(role) for role in ROLES] == [
        "medium",
        "medium",
        "medium",
        "large",
        "large",
        *["medium"] * 2,
    ]
    assert settings.price_of("large") == Price(prompt_micro_per_mtok=1, completion_micro_per_mtok=2)
    assert settings.price_of("medium") == DEAR
    assert (settings.max_tokens, settings.max_calls, settings.max_cost_micro) == (5_000, 200, 70)
    assert settings.api_key == "secret-1"
    assert "secret-1" not in repr(settings) + "".join(describe(settings))


@pytest.mark.parametrize(
    ("base_url", "unknown", "price"),
    [
        ("http://127.0.0.1:11434/v1", None, FREE),
        ("http://localhost/v1", DEAR, FREE),
        ("http://[::1]:8000/v1", None, FREE),
        ("http://127.0.0.1.example/v1", None, None),
        ("https://models.example/v1", None, None),
        ("https://models.example/v1", DEAR, DEAR),
    ],
)
def test_a_price_that_is_not_known_is_never_nothing_but_on_ones_own_machine(
    base_url: str, unknown: Price | None, price: Price | None
) -> None:
    settings = ModelSettings(base_url=base_url, default="m", unknown_price=unknown)
    assert settings.price_of("m") == price


@pytest.mark.parametrize(
    ("planner", "judge", "part"),
    [
        ("large", "small", "'small' of R4b is weaker than 'large' of R2"),
        ("large", "strange", "'strange', the model of R4b, is not in strength"),
        ("strange", "large", "'strange', the model of R2, is not in strength"),
        ("small", "large", ""),
        ("large", "large", ""),
        ("strange", "strange", ""),
    ],
)
def test_who_judges_the_whole_is_not_weaker_than_who_planned_it(planner: str, judge: str, part: str) -> None:
    settings = ModelSettings(roles={Role.R2: planner, Role.R4B: judge}, strength=("small", "large"))
    assert part in settings.weakness()
    assert bool(part) is bool(settings.weakness())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = 3", ":1: models must be a table"),
        ("[models]\nbase_url = 'ftp://x/v1'\ndefault = 'm'", ":2: [models] base_url must be http(s)"),
        ("[models]\nbase_url = 'https://x/v1'", ":2: [models] base_url is given without default (EARNEST_MODEL)"),
        ("[models]\nR9 = 'm'", ":2: [models] there is no 'R9'; known: "),
        ("[models]\nR2 = 7", ":2: [models] R2 must be a text"),
        ("[models]\nstrength = ['a', 'a']", ":2: [models] strength must be a list of names"),
        ("[models]\nmax_calls = 0", ":2: [models] max_calls is 0: it must be a whole number from 1 to 10000"),
        ("[models]\nmax_tokens = true", ":2: [models] max_tokens is True"),
        (
            "[models]\nunknown_price = 7",
            "[models.unknown_price] must hold prompt_micro_per_mtok and completion_micro_per_mtok",
        ),
        (
            "[models.prices.m]\nprompt_micro_per_mtok = -1\ncompletion_micro_per_mtok = 1",
            '[models.prices."m"] must hold',
        ),
        ("[models]\nR2 = 'b'\nR4b = 'a'\nstrength = ['a', 'b']", ":4: [models] 'a' of R4b is weaker than 'b' of R2"),
    ],
)
def test_what_is_wrong_is_named_before_anything_happens(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Faulty) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_a_wrong_address_in_the_environment_names_its_variable(tmp_path: Path) -> None:
    with pytest.raises(Faulty, match=r"^EARNEST_BASE_URL: base_url must be"):
        read(tmp_path, "", EARNEST_BASE_URL="here", EARNEST_MODEL="m")


async def test_roles_of_one_name_share_a_model_and_its_connections() -> None:
    async with ModelServer(says("hello")) as server:
        settings = ModelSettings(base_url=server.base_url, default="m", roles={Role.R2: "n"})
        async with pool(settings) as models:
            roles = await models.of_roles()
            for priced in roles.values():
                await priced.model.complete(HELLO, call_id="c")
    assert {role: priced.model.endpoint.model for role, priced in roles.items()} == {
        role: "n" if role == "R2" else "m" for role in ROLES
    }
    assert server.connections == 2


async def test_an_ollama_of_this_machine_is_found_and_not_told_the_key() -> None:
    settings = ModelSettings(api_key="secret-1")
    async with ModelServer(says("hello"), model="qwen3:8b") as server, pool(settings, server.base_url) as models:
        chosen = (await models.of_roles())[Role.R3]
        await chosen.model.complete(HELLO, call_id="c")
    assert chosen.model.endpoint.model == "qwen3:8b"
    assert chosen.price == FREE
    assert "authorization" not in server.chats[0].headers


async def test_a_model_that_is_set_is_taken_over_the_first_that_is_found() -> None:
    async with ModelServer() as server, pool(ModelSettings(default="mine"), server.base_url) as models:
        assert (await models.of_roles())[Role.R1].model.endpoint.model == "mine"


async def test_a_found_model_that_is_too_weak_to_judge_is_refused() -> None:
    settings = ModelSettings(roles={Role.R2: "large"}, strength=("small", "large"))
    async with ModelServer(model="small") as server, pool(settings, server.base_url) as models:
        with pytest.raises(Unavailable, match="weaker"):
            await models.of_roles()


async def test_without_any_endpoint_it_says_what_to_set() -> None:
    async with pool(ModelSettings()) as models:
        with pytest.raises(
            Unavailable, match=r"EARNEST_BASE_URL .* EARNEST_MODEL.*Ollama.*playbooks work without a model"
        ):
            await models.of_roles()


async def test_without_its_client_no_model_is_given_to_any_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("earnest.app.models.find_spec", lambda _: None)
    async with pool(ModelSettings(base_url=refused_url(), default="m")) as models:
        with pytest.raises(Unavailable, match=r"install 'earnest\[models\]'"):
            await models.of_roles()


@pytest.mark.parametrize(
    "reply",
    [
        fails(500),
        ScriptedReply(raw=b"[]"),
        ScriptedReply(raw=b"x" * 2_000_000),
        ScriptedReply(raw=b'{"data": [{"id": 7}]}'),
    ],
)
async def test_what_is_no_ollama_is_none(reply: ScriptedReply) -> None:
    async with ModelServer(listing=reply) as server:
        host, port = server.base_url.split("/")[2].split(":")
        assert await local_models(host, int(port)) == ()


def test_models_are_described_without_asking_them() -> None:
    settings = ModelSettings(
        base_url="https://user:pw@models.example/v1", default="m", roles={Role.R4B: "n"}, prices={"n": DEAR}
    )
    assert describe(settings) == [
        "m at models.example for R1, R2, R3, R4a, R5, R7; its price is not known",
        "n at models.example for R4b; 9 and 10 millionths for 1,000,000 tokens in and out",
    ]
    assert "if one runs there" in describe(ModelSettings())[0]
