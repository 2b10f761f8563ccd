"""Do spans tell of a run what the conventions name, and nothing of what was said?"""

from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.messages import Role, RunResumed
from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.runtime.tracing import EXPORTERS, Tracing, open_tracing

from .fakes import REQUEST, FakeHands, Stage

AT_MS = 1_750_000_000_000
ANSWER = ModelAnswered(
    turn=ModelTurn(role=Role.R2, round=1, attempt=1),
    model="qwen3",
    calls=2,
    prompt_tokens=70,
    completion_tokens=30,
    cost_micro=None,
    duration_ms=500,
)


class Memory:
    """Spans that go nowhere."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider)

    def tell(self, payload: object, at_ms: int = AT_MS, *, replayed: bool = False) -> None:
        message_id = f"run/{type(payload).__name__}"
        self.tracing.see(
            Envelope(
                id=message_id,
                run_id="run",
                sender="R2",
                causation_id=None,
                at_ms=at_ms,
                payload=payload,
                replayed=replayed,
            )
        )

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_model_call_is_a_span_of_the_conventions() -> None:
    memory = Memory()
    memory.tell(ANSWER)
    span = memory.spans()["chat qwen3"]
    told = attributes(span)
    assert (told["gen_ai.operation.name"], told["gen_ai.request.model"]) == ("chat", "qwen3")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (70, 30)
    assert span.kind is SpanKind.CLIENT
    assert (span.start_time, span.end_time) == ((AT_MS - 500) * 10**6, AT_MS * 10**6)


def test_a_call_without_an_answer_is_an_error_whose_words_stay_here() -> None:
    memory = Memory()
    memory.tell(replace(ANSWER, failure="the model said: my password is 1234"))
    span = memory.spans()["chat qwen3"]
    assert (span.status.status_code, attributes(span)["error.type"]) == (StatusCode.ERROR, "unanswered")
    assert "1234" not in span.to_json()


async def test_a_run_is_the_span_around_its_tool_calls() -> None:
    memory, stage = Memory(), Stage()
    stage.bus.tap("tracing", memory.tracing.see)
    async with stage.engine as engine:
        run = stage.run()
        assert isinstance(run.hands, FakeHands)
        run.hands.leave.set()
        await engine.work(run, REQUEST)
    spans = memory.spans()
    whole, tool = spans["invoke_agent earnest"], spans["execute_tool shell"]
    assert tool.parent is not None
    assert tool.parent.span_id == whole.context.span_id
    assert attributes(whole)["gen_ai.conversation.id"] == "run"
    assert attributes(whole)["earnest.directive"] == "accept"
    assert attributes(tool)["gen_ai.tool.call.id"] == "r1/one/a1/c1"


async def test_what_an_earlier_process_had_traced_is_not_traced_again() -> None:
    memory = Memory()
    memory.tell(RunResumed(downtime_ms=5))
    memory.tell(REQUEST, replayed=True)
    memory.tell(ANSWER, replayed=True)
    memory.tell(ANSWER)
    await memory.tracing.close()
    assert sorted(memory.spans()) == ["chat qwen3", "invoke_agent earnest"]


def test_nothing_is_traced_unless_an_exporter_is_configured() -> None:
    assert open_tracing({}) is None


@pytest.mark.parametrize("name", EXPORTERS)
async def test_a_collector_that_is_gone_keeps_nobody_waiting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    tracing = open_tracing({name: "http://127.0.0.1:9"})
    assert tracing is not None
    await tracing.close()
