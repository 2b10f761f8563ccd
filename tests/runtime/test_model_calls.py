"""Is each answer of a model kept once and asked for no more, inside the budget, whatever the endpoint does?"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SeededChance, SystemClock, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.llm.api import (
    ChatModel,
    Completion,
    CompletionLimits,
    Endpoint,
    Finish,
    Hear,
    Message,
    Native,
    TokenUsage,
)
from earnest.effects.outside.llm.api import MessageRole as Speaker
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.engine.facts import INTENT, OUTCOME
from earnest.engine.messages import Budget, Role
from earnest.engine.model_messages import ModelTurn
from earnest.engine.ports import BudgetSpent, ModelReply, Question
from earnest.engine.spending import ANSWER_TOKENS_MAX, Price
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Unavailable
from earnest.runtime.model_calls import Ear, JournaledModels, PricedModel, Purse, charged_in
from earnest.runtime.redaction import Redaction
from earnest.runtime.run_book import RunBook, read_kept
from earnest.runtime.task_log import TaskLog
from earnest.testing.model_server import ModelServer, WireFault, answers, says

SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
QUESTION = Question(
    prompt="planner@1", messages=(Message(role=Speaker.USER, text="how many?"),), form=SCHEMA, schema=SCHEMA
)
TURN = ModelTurn(role=Role.R2, round=1, attempt=1)
PRICE = Price(prompt_micro_per_mtok=1_000_000, completion_micro_per_mtok=1_000_000)
RICH = Budget(time_ms=1, tokens=10**7, model_calls=10**4, cost_micro=None)

Said = str | Exception | Completion


def completion(text: str, *, finish: Finish = Finish.STOP, usage: TokenUsage | None = None) -> Completion:
    usage = usage or TokenUsage(prompt_tokens=7, completion_tokens=3)
    return Completion(call_id="", text=text, finish=finish, usage=usage, model="m", endpoint="http://x/v1")


@dataclass
class Scripted:
    """A model that says one thing after the other, the last one again and again, once `leave` is set."""

    script: Sequence[Said]
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    call_ids: list[str] = field(default_factory=list)
    limits: list[CompletionLimits] = field(default_factory=list)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    before: Callable[[], object] = lambda: None
    endpoint: Endpoint = field(default_factory=lambda: Endpoint(base_url="http://x/v1", model="m"))

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        call_id: str,
        schema: JsonObject | None = None,
        limits: CompletionLimits | None = None,
        native: Native | None = None,
        hear: Hear | None = None,
    ) -> Completion:
        assert limits is not None
        assert schema == SCHEMA
        said = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(tuple(messages))
        self.call_ids.append(call_id)
        self.limits.append(limits)
        self.before()
        await self.leave.wait()
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Completion) else completion(said)


def scripted(*script: Said) -> Scripted:
    model = Scripted(script)
    model.leave.set()
    return model


@dataclass
class Desk:
    """One process that asks, with a log beside it."""

    models: JournaledModels
    log: Path


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database.open(tmp_path / "books.sqlite3", VirtualClock())
    yield database
    database.close()


async def begin(
    database: Database,
    folder: Path,
    model: ChatModel,
    *,
    budget: Budget = RICH,
    price: Price | None = PRICE,
    ear: Ear | None = None,
) -> Desk:
    """A process begins, from what the last one left."""
    clock = VirtualClock()
    kept = await database.read(lambda reader: read_kept(reader, "run"))
    book = RunBook(
        run_id="run",
        database=database,
        clock=clock,
        kept=kept,
        recorded=lambda _seq, _envelope: None,
        failed=lambda _reason: None,
    )
    models = JournaledModels(
        book=book,
        models=dict.fromkeys(Role, PricedModel(model=model, price=price)),
        purse=Purse(budget, charged_in(kept.outcomes)),
        clock=clock,
        log=TaskLog(folder, Redaction(["very secret key"]), clock),
        ear=ear,
    )
    return Desk(models=models, log=folder / "task.jsonl")


async def recorded(database: Database, kind: str) -> list[JsonObject]:
    return await database.read(lambda reader: [fact.body for fact in reader.facts(kind=kind, subject="run")])


async def test_what_is_heard_stands_in_no_fact_and_changes_none(database: Database, tmp_path: Path) -> None:
    heard: list[str | None] = []
    async with ModelServer(says("no object"), says('{"n": 4}'), says("no object"), says('{"n": 4}')) as server:
        endpoint = Endpoint(base_url=server.base_url, model="m")
        model = OpenAICompatible(endpoint, clock=VirtualClock(), chance=SeededChance())
        for turn, ear in ((TURN, lambda _, piece: heard.append(piece)), (replace(TURN, number=2), None)):
            await (await begin(database, tmp_path, model, ear=ear)).models.ask(turn, QUESTION)
    assert heard == ["no object", None, '{"n": 4}']
    loud, quiet = await recorded(database, "effect.outcome")
    assert (loud["value"], loud["charged"]) == (quiet["value"], quiet["charged"])
    assert set(loud) == set(quiet)


async def test_an_answer_is_journalled_and_counted(database: Database, tmp_path: Path) -> None:
    model = scripted('{"n": 4}')
    reply = await (await begin(database, tmp_path, model)).models.ask(TURN, QUESTION)
    told = reply.told
    assert (reply.value, told.calls, told.prompt_tokens, told.completion_tokens) == ({"n": 4}, 1, 7, 3)
    assert (told.cost_micro, told.failure, told.model) == (10, "", "m")
    (intent,) = await recorded(database, INTENT)
    (outcome,) = await recorded(database, OUTCOME)
    assert intent["key"] == outcome["key"] == TURN.key
    assert "how many" not in json.dumps([intent, outcome])
    assert model.call_ids == [f"run/{TURN.key}"]


async def test_the_intent_is_durable_before_the_model_is_asked(database: Database, tmp_path: Path) -> None:
    model = Scripted(['{"n": 4}'])
    desk = await begin(database, tmp_path, model)
    begun = asyncio.Event()
    model.before = begun.set
    asking = asyncio.create_task(desk.models.ask(TURN, QUESTION))
    await asyncio.wait_for(begun.wait(), 5)
    assert [len(await recorded(database, kind)) for kind in (INTENT, OUTCOME)] == [1, 0]
    model.leave.set()
    await asking


@pytest.mark.parametrize("said", ['{"n": 4}', "no idea", Unavailable("it is gone")])
async def test_what_was_answered_is_not_asked_again_nor_is_a_failure(
    said: Said, database: Database, tmp_path: Path
) -> None:
    first = await (await begin(database, tmp_path, scripted(said))).models.ask(TURN, QUESTION)
    silent = scripted(AssertionError("asked again"))
    assert await (await begin(database, tmp_path, silent)).models.ask(TURN, QUESTION) == first
    assert not silent.asked


async def test_a_call_that_a_crash_cut_off_is_made_again(database: Database, tmp_path: Path) -> None:
    hanging = Scripted(['{"n": 4}'])
    begun = asyncio.Event()
    hanging.before = begun.set
    asking = asyncio.create_task((await begin(database, tmp_path, hanging)).models.ask(TURN, QUESTION))
    await asyncio.wait_for(begun.wait(), 5)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    reply = await (await begin(database, tmp_path, scripted('{"n": 5}'))).models.ask(TURN, QUESTION)
    assert reply.value == {"n": 5}
    assert [len(await recorded(database, kind)) for kind in (INTENT, OUTCOME)] == [1, 1]


async def test_another_version_of_a_prompt_does_not_get_the_old_ones_answer(database: Database, tmp_path: Path) -> None:
    await (await begin(database, tmp_path, scripted('{"n": 4}'))).models.ask(TURN, QUESTION)
    again = (await begin(database, tmp_path, scripted('{"n": 4}'))).models
    with pytest.raises(Broken, match="planner@2"):
        await again.ask(TURN, replace(QUESTION, prompt="planner@2"))


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        ("I think four", "no JSON object"),
        ('{"n": "four"}', "/n"),
        (completion('{"n": 4', finish=Finish.LENGTH), "cut off"),
        (completion('{"n": 4}', finish=Finish.OTHER), "before it was whole"),
        (completion(""), "no JSON object"),
    ],
)
async def test_an_answer_of_the_wrong_form_goes_back_once_with_what_is_wrong(
    bad: Said, wrong: str, database: Database, tmp_path: Path
) -> None:
    model = scripted(bad, '{"n": 4}')
    reply = await (await begin(database, tmp_path, model)).models.ask(TURN, QUESTION)
    assert (reply.value, reply.told.calls, reply.told.prompt_tokens) == ({"n": 4}, 2, 14)
    _, again = model.asked
    assert [message.role for message in again] == [Speaker.USER, Speaker.ASSISTANT, Speaker.USER]
    assert again[1].text
    assert wrong in again[2].text
    assert model.call_ids[1] == f"run/{TURN.key}/repair"


async def test_two_answers_of_the_wrong_form_are_a_failure_that_says_why(database: Database, tmp_path: Path) -> None:
    model = scripted("no", '{"m": 4}', '{"n": 4}')
    reply = await (await begin(database, tmp_path, model)).models.ask(TURN, QUESTION)
    assert (reply.value, len(model.asked)) == (None, 2)
    assert "twice" in reply.told.failure
    assert (reply.told.calls, reply.told.cost_micro) == (2, 20)


async def test_an_endpoint_that_fails_is_an_answer_and_no_exception(database: Database, tmp_path: Path) -> None:
    reply = await (await begin(database, tmp_path, scripted(Unavailable("it is gone")))).models.ask(TURN, QUESTION)
    assert (reply.value, reply.told.failure, reply.told.calls) == (None, "it is gone", 1)
    assert reply.told.cost_micro is None, "nobody knows what the endpoint charges for it"


@pytest.mark.parametrize(
    "budget",
    [
        Budget(time_ms=1, tokens=10**6, model_calls=0, cost_micro=None),
        Budget(time_ms=1, tokens=100, model_calls=5, cost_micro=None),
        Budget(time_ms=1, tokens=10**6, model_calls=5, cost_micro=100),
    ],
)
async def test_a_call_that_could_pass_a_bound_is_not_made(budget: Budget, database: Database, tmp_path: Path) -> None:
    model = scripted('{"n": 4}')
    desk = await begin(database, tmp_path, model, budget=budget)
    with pytest.raises(BudgetSpent):
        await desk.models.ask(TURN, QUESTION)
    assert not model.asked
    assert not await recorded(database, INTENT)


async def test_a_bound_on_cost_and_an_unknown_price_do_not_go_together(database: Database, tmp_path: Path) -> None:
    budget = Budget(time_ms=1, tokens=10**6, model_calls=5, cost_micro=10**9)
    desk = await begin(database, tmp_path, scripted('{"n": 4}'), budget=budget, price=None)
    with pytest.raises(BudgetSpent, match="price of m is not known"):
        await desk.models.ask(TURN, QUESTION)


async def test_a_repair_that_the_budget_does_not_allow_leaves_what_is_known(database: Database, tmp_path: Path) -> None:
    budget = Budget(time_ms=1, tokens=10**6, model_calls=1, cost_micro=None)
    reply = await (await begin(database, tmp_path, scripted("no"), budget=budget)).models.ask(TURN, QUESTION)
    assert (reply.value, reply.told.calls) == (None, 1)
    assert "all 1 model calls" in reply.told.failure


async def test_the_last_call_is_asked_for_no_more_than_is_left(database: Database, tmp_path: Path) -> None:
    model = scripted('{"n": 4}')
    budget = Budget(time_ms=1, tokens=1_000, model_calls=5, cost_micro=None)
    await (await begin(database, tmp_path, model, budget=budget)).models.ask(TURN, QUESTION)
    (limits,) = model.limits
    assert limits.answer_tokens is not None
    assert 256 <= limits.answer_tokens < 1_000


async def test_what_an_endpoint_does_not_count_is_charged_with_the_most_it_can_be(
    database: Database, tmp_path: Path
) -> None:
    budget = Budget(time_ms=1, tokens=ANSWER_TOKENS_MAX + 1_000, model_calls=50, cost_micro=None)
    model = scripted(completion('{"n": 4}', usage=TokenUsage()))
    desk = await begin(database, tmp_path, model, budget=budget)
    reply = await desk.models.ask(TURN, QUESTION)
    assert (reply.told.prompt_tokens, reply.told.cost_micro) == (0, None)
    await desk.models.ask(ModelTurn(role=Role.R3), QUESTION)
    with pytest.raises(BudgetSpent):
        await desk.models.ask(ModelTurn(role=Role.R4B), QUESTION)


async def test_a_model_of_ones_own_machine_costs_nothing_even_uncounted(database: Database, tmp_path: Path) -> None:
    free = Price(prompt_micro_per_mtok=0, completion_micro_per_mtok=0)
    model = scripted(completion('{"n": 4}', usage=TokenUsage()))
    reply = await (await begin(database, tmp_path, model, price=free)).models.ask(TURN, QUESTION)
    assert reply.told.cost_micro == 0


async def test_a_resumed_run_has_spent_what_it_had_spent(database: Database, tmp_path: Path) -> None:
    budget = Budget(time_ms=1, tokens=10**6, model_calls=1, cost_micro=None)
    await (await begin(database, tmp_path, scripted('{"n": 4}'), budget=budget)).models.ask(TURN, QUESTION)
    again = (await begin(database, tmp_path, scripted('{"n": 4}'), budget=budget)).models
    assert (await again.ask(TURN, QUESTION)).value == {"n": 4}
    with pytest.raises(BudgetSpent):
        await again.ask(ModelTurn(role=Role.R3), QUESTION)


async def test_calls_at_once_wait_for_each_other_rather_than_pass_the_bound(database: Database, tmp_path: Path) -> None:
    budget = Budget(time_ms=1, tokens=2 * ANSWER_TOKENS_MAX, model_calls=50, cost_micro=None)
    model = Scripted(['{"n": 4}'])
    desk = await begin(database, tmp_path, model, budget=budget)
    asking = [asyncio.create_task(desk.models.ask(_nth(number), QUESTION)) for number in range(8)]
    begun = asyncio.Event()
    model.before = begun.set
    await asyncio.wait_for(begun.wait(), 5)
    assert len(model.asked) == 1, "a second one could pass the bound"
    model.leave.set()
    replies = await asyncio.gather(*asking)
    assert [reply.value for reply in replies] == [{"n": 4}] * 8


def _nth(number: int) -> ModelTurn:
    return ModelTurn(role=Role.R3, round=1, subtask_id=f"s{number}", attempt=1)


async def test_the_sum_over_32_calls_at_once_is_the_endpoints_own(database: Database, tmp_path: Path) -> None:
    async with ModelServer(answers({"n": 4})) as server:
        endpoint = Endpoint(base_url=server.base_url, model="scripted")
        model = OpenAICompatible(endpoint, clock=SystemClock(), chance=SeededChance())
        desk = await begin(database, tmp_path, model)
        replies: list[ModelReply] = await asyncio.gather(*(desk.models.ask(_nth(n), QUESTION) for n in range(32)))
    told = [reply.told for reply in replies]
    assert (sum(one.prompt_tokens for one in told), sum(one.completion_tokens for one in told)) == server.counted
    assert sum(one.calls for one in told) == len(server.chats) == 32
    assert len({fact["key"] for fact in await recorded(database, OUTCOME)}) == 32


async def test_a_cancelled_call_closes_its_connection(database: Database, tmp_path: Path) -> None:
    async with ModelServer(replace(says(""), fault=WireFault.HANG_BEFORE_HEADERS)) as server:
        endpoint = Endpoint(base_url=server.base_url, model="scripted")
        model = OpenAICompatible(endpoint, clock=SystemClock(), chance=SeededChance())
        asking = asyncio.create_task((await begin(database, tmp_path, model)).models.ask(TURN, QUESTION))
        await asyncio.wait_for(server.asked.wait(), 10)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.disconnected.wait(), 10)
