"""What does a journalled model call cost beside a bare one? Prints medians as JSON; all sides in one process, in turns.

`earnest` is the whole way of a role's question: bus, hash-chained audit, durable intent, request, answer, durable
outcome. `layer` is the model layer alone. `openai` and `raw` are the official client and its HTTP client, unstreamed,
one for all calls. Differences and ratios are those of `earnest` to `openai`; `rss_mb` is a process of `earnest` alone.

`python benchmarks/models.py SIDE URL` measures one side alone, at an endpoint that runs already.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from measuring import ASKED, SCHEMA, SYSTEM, Opened, Side, endpoint, measured, measured_alone

from earnest.audit.log import AuditLog
from earnest.audit.tap import Auditor
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.llm.api import Endpoint, Message
from earnest.effects.outside.llm.api import MessageRole as Speaker
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.engine.asking import Asking
from earnest.engine.codec import SENDERS, encode
from earnest.engine.messages import Budget, Role
from earnest.engine.ports import Question
from earnest.engine.post import Outbox
from earnest.engine.run import EngineRun
from earnest.engine.spending import Price
from earnest.foundation.canonical import JsonObject
from earnest.runtime.model_calls import JournaledModels, PricedModel, Purse, charged_in
from earnest.runtime.redaction import Redaction
from earnest.runtime.run_book import RunBook, RunRemains
from earnest.runtime.task_log import TaskLog

ROUNDS = 15
CLOCK = SystemClock()
MESSAGES = (Message(role=Speaker.SYSTEM, text=SYSTEM), Message(role=Speaker.USER, text=ASKED))
PLAIN = [{"role": message.role.value, "content": message.text} for message in MESSAGES]
FITTING = cast("JsonObject", SCHEMA)
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}


@asynccontextmanager
async def layer(url: str) -> AsyncIterator[Side]:
    numbers = count()
    model = OpenAICompatible(Endpoint(base_url=url, model="mock"), clock=CLOCK, chance=SystemChance())

    async def side(calls: int) -> None:
        for _ in range(calls):
            await model.complete(MESSAGES, call_id=f"call-{next(numbers)}", schema=FITTING)

    async with model:
        yield side


@asynccontextmanager
async def earnest(url: str) -> AsyncIterator[Side]:
    numbers = count(1)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = OpenAICompatible(Endpoint(base_url=url, model="mock"), clock=CLOCK, chance=SystemChance())
        await stack.enter_async_context(model)
        database = Database.open(folder / "books.sqlite3", CLOCK)
        stack.callback(database.close)
        bus = Bus()
        auditor = Auditor(
            bus=bus,
            log=AuditLog.open(folder / "audit.jsonl", CLOCK.now_ms()),
            clock=CLOCK,
            encode=encode,
            senders={kind.__name__: frozenset(map(str, roles)) for kind, roles in SENDERS.items()},
            on_report=lambda _: None,
        )
        stack.callback(auditor.close)
        book = RunBook(
            run_id="run", database=database, clock=CLOCK, kept=RunRemains(), recorded=lambda *_: None, failed=sys.exit
        )
        bus.tap("book", book.see)
        stack.push_async_callback(book.close)
        models = JournaledModels(
            book=book,
            models=dict.fromkeys(
                Role, PricedModel(model=model, price=Price(prompt_micro_per_mtok=1, completion_micro_per_mtok=1))
            ),
            purse=Purse(Budget(time_ms=10**9, tokens=10**12, model_calls=10**9, cost_micro=10**12), charged_in({})),
            clock=CLOCK,
            log=TaskLog(folder, Redaction([]), CLOCK),
        )
        post = Outbox(run_id="run", bus=bus, clock=CLOCK, kept=book)
        run = cast("EngineRun", SimpleNamespace(post=post, models=models, effect=nullcontext))
        cause = Envelope(id="run/0", run_id="run", sender="user", causation_id=None, at_ms=0, payload=PLAIN)
        question = Question(prompt="benchmark@1", messages=MESSAGES, form=FITTING, schema=FITTING)

        async def side(calls: int) -> None:
            asking = Asking(run, Role.R3, cause, round_number=1, subtask_id=f"s{next(numbers)}", attempt=1)
            for _ in range(calls):
                await asking.ask(question)

        yield side


@asynccontextmanager
async def openai(url: str) -> AsyncIterator[Side]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none") as client:

        async def side(calls: int) -> None:
            for _ in range(calls):
                answer = await client.chat.completions.create(
                    model="mock", messages=cast("Any", PLAIN), response_format=cast("Any", FORM)
                )
                json.loads(answer.choices[0].message.content or "")

        yield side


@asynccontextmanager
async def raw(url: str) -> AsyncIterator[Side]:
    from httpx2 import AsyncClient

    async with AsyncClient() as client:
        body = {"model": "mock", "messages": PLAIN, "response_format": FORM}

        async def side(calls: int) -> None:
            for _ in range(calls):
                answer = await client.post(f"{url}/chat/completions", json=body)
                json.loads(answer.json()["choices"][0]["message"]["content"])

        yield side


SIDES: dict[str, Opened] = {"earnest": earnest, "layer": layer, "openai": openai, "raw": raw}


async def compare(url: str) -> dict[str, dict[str, float]]:
    async with AsyncExitStack() as stack:
        sides = {name: await stack.enter_async_context(opened(url)) for name, opened in SIDES.items()}
        return await measured(sides, ROUNDS)


def main() -> None:
    if sys.argv[1:]:
        name, url = sys.argv[1:]
        print(json.dumps(asyncio.run(measured_alone(url, SIDES[name]))))
        return
    with endpoint() as url:
        found: dict[str, Any] = asyncio.run(compare(url))
        child = subprocess.run([sys.executable, __file__, "earnest", url], capture_output=True, text=True, check=True)
    ours, theirs = found["earnest"], found["openai"]
    found["beside_openai"] = {
        "chain_cpu_ms": ours["chain_cpu_ms"] - theirs["chain_cpu_ms"],
        "fan_cpu_ms": ours["fan_cpu_ms"] - theirs["fan_cpu_ms"],
        "chain_wall_ratio": ours["chain_wall_ms"] / theirs["chain_wall_ms"],
        "fan_wall_ratio": ours["fan_wall_ms"] / theirs["fan_wall_ms"],
    }
    found["rss_mb"] = json.loads(child.stdout)["rss_mb"]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
