"""Runs as OpenTelemetry spans after the GenAI semantic conventions, made from what the bus says.

They tell which model and tool took how long and how much, never what was said. Nothing is imported or sent unless an
exporter is configured.
"""

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.messages import FinalResult, RunResumed, TaskRequested, ToolCalled
from earnest.engine.model_messages import ModelAnswered

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

EXPORTERS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NAME: Final = "earnest"
CLOSE_S: Final = 5
"""How long the last spans may take to leave. A collector that is gone keeps nobody waiting."""
NS: Final = 1_000_000

_log = logging.getLogger(__name__)


class Tracing:
    """A tap of the bus. A run is a span; each model and tool call in it is a span below."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(NAME)
        self._runs: dict[str, Span] = {}

    def see(self, envelope: Envelope) -> None:
        """Make the spans that a message begins or ends. What an earlier process had sent it had traced as well."""
        if envelope.replayed:
            return
        match envelope.payload:
            case TaskRequested() | RunResumed():
                self._begin(envelope)
            case ModelAnswered() as answer:
                self._model(envelope, answer)
            case ToolCalled() as called:
                self._tool(envelope, called)
            case FinalResult() as result:
                self._end(envelope, result)

    async def close(self) -> None:
        """End what is open and send what waits."""
        for span in self._runs.values():
            span.end()
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        await asyncio.to_thread(sending.join, CLOSE_S)

    def _begin(self, envelope: Envelope) -> None:
        if envelope.run_id not in self._runs:
            attributes = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": NAME,
                "gen_ai.conversation.id": envelope.run_id,
            }
            self._runs[envelope.run_id] = self._tracer.start_span(
                f"invoke_agent {NAME}", attributes=attributes, start_time=envelope.at_ms * NS
            )

    def _model(self, envelope: Envelope, answer: ModelAnswered) -> None:
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",  # the protocol: whose model it is nobody says
            "gen_ai.request.model": answer.model,
            "gen_ai.usage.input_tokens": answer.prompt_tokens,
            "gen_ai.usage.output_tokens": answer.completion_tokens,
            "earnest.turn": answer.turn.key,
            "earnest.requests": answer.calls,
        }
        self._span(
            envelope, f"chat {answer.model}", attributes, answer.duration_ms, "unanswered" if answer.failure else ""
        )

    def _tool(self, envelope: Envelope, called: ToolCalled) -> None:
        record = called.record
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": record.tool,
            "gen_ai.tool.call.id": called.key,
        }
        error = record.failure.code if record.failure else ""
        self._span(envelope, f"execute_tool {record.tool}", attributes, record.duration_ms, error)

    def _span(
        self, envelope: Envelope, name: str, attributes: Mapping[str, str | int], took_ms: int, error: str
    ) -> None:
        """One that has ended with this message."""
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context  # noqa: PLC0415

        run = self._runs.get(envelope.run_id)
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(run) if run else None,
            kind=SpanKind.CLIENT if attributes["gen_ai.operation.name"] == "chat" else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=(envelope.at_ms - took_ms) * NS,
        )
        if error:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(envelope.at_ms * NS)

    def _end(self, envelope: Envelope, result: FinalResult) -> None:
        span = self._runs.pop(envelope.run_id, None)
        if span is not None:
            span.set_attributes(
                {
                    "gen_ai.usage.input_tokens": result.usage.prompt_tokens,
                    "gen_ai.usage.output_tokens": result.usage.completion_tokens,
                    "earnest.directive": result.directive,
                    "earnest.passes": result.usage.passes,
                }
            )
            if result.cause is not None:
                span.set_attribute("error.type", result.cause)
            span.end(envelope.at_ms * NS)


def open_tracing(environment: Mapping[str, str]) -> Tracing | None:
    """What sends spans to the collector that the environment names; None if it names none."""
    if not any(environment.get(name) for name in EXPORTERS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        _log.warning("an exporter of traces is configured but not installed: install 'earnest[tracing]'")
        return None
    resource = Resource.create({"service.name": environment.get("OTEL_SERVICE_NAME", NAME)})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
