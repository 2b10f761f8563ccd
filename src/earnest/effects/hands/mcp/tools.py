"""Tools of an MCP server as ours, with the same record. What a server says of itself is not trusted."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

from jsonschema_rs import Draft202012Validator, RegexOptions
from mcp import MCPError
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp_types import Tool as ListedTool

from earnest.effects.hands.mcp.api import tool_name
from earnest.effects.hands.mcp.server import CallTimeout, McpServer
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.failures import ToolFailure, environmental, logical
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject, canonical_bytes, canonical_text, digest_of
from earnest.foundation.errors import Unavailable
from earnest.foundation.text import printable

ARGS_BYTES_MAX: Final = 64 * 1024
SCHEMA_BYTES_MAX: Final = 16 * 1024
OUTPUT_BYTES_MAX: Final = 1024 * 1024
PURPOSE_CHARACTERS_MAX: Final = 400
TARGET_CHARACTERS_MAX: Final = 200
FAULTS_MAX: Final = 5
FAULT_CHARACTERS_MAX: Final = 300
_PATTERNS: Final = RegexOptions(size_limit=256 * 1024, dfa_size_limit=2 * 1024 * 1024)
_REFERENCES: Final = (b'"$ref"', b'"$dynamicRef"', b'"$recursiveRef"')


class McpTools:
    """`ToolSource` of one server."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._tools: tuple[McpTool, ...] | None = None
        self.close: Final = server.close

    async def tools(self) -> tuple["McpTool", ...]:
        """See `ToolSource`. Listed once; what has no usable name of its own, or too large a schema, is left out."""
        if self._tools is None:
            version, listed = await self._server.listed()
            spec = self._server.spec
            named = [(tool_name(spec.name, tool.name), tool) for tool in listed]
            times = Counter(name.lower() for name, _ in named)
            self._tools = tuple(
                McpTool(self._server, name, tool, version)
                for name, tool in named
                if name and times[name.lower()] == 1 and _is_bounded(tool)
            )
        return self._tools


class McpTool(Tool):
    """`mcp:<server>/<tool>`. Acts outside the sandbox: each call is confirmed, unless a trusted one only reads."""

    def __init__(self, server: McpServer, name: str, listed: ListedTool, server_version: str) -> None:
        hints = listed.annotations
        self.name = name
        self.args_schema = listed.input_schema
        self.purpose = printable(" ".join((listed.description or listed.title or "").split()))[:PURPOSE_CHARACTERS_MAX]
        self.version = f"{printable(server_version)[:100]} {digest_of(self.args_schema)}"
        self.reads_only = server.spec.trusted and hints is not None and hints.read_only_hint is True
        self.leave = Leave.NONE if self.reads_only else Leave.OUTSIDE
        self._server = server
        self._listed_name = listed.name
        self._validator = _validator(self.args_schema)

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`. A schema with references, or of another dialect, is left to the server to check."""
        if len(canonical_bytes(args)) > ARGS_BYTES_MAX:
            return [f"the arguments are over {ARGS_BYTES_MAX} bytes"]
        if self._validator is None:
            return []
        faults: list[str] = []
        for error in self._validator.iter_errors(args):
            faults.append("".join(f"/{step}" for step in error.instance_path) + f" {error.message}")
            if len(faults) == FAULTS_MAX:
                break
        return [printable(fault.strip())[:FAULT_CHARACTERS_MAX] for fault in faults]

    def target(self, args: JsonObject) -> str:
        """The arguments in canonical form; of long ones the beginning, and the digest of all."""
        text = canonical_text(args)
        return text if len(text) <= TARGET_CHARACTERS_MAX else f"{text[:TARGET_CHARACTERS_MAX]}… {digest_of(args)}"

    async def run(self, call: ToolCall, _place: ToolPlace) -> RawResult:
        """See `Tool`. It gets the arguments and nothing else: neither the workspace nor what the user granted."""
        try:
            result = await self._server.call(self._listed_name, call.args, call.timeout_ms)
        except CallTimeout:
            return RawResult(failure=environmental("timeout", f"no answer within {call.timeout_ms} ms"))
        except Unavailable as error:
            return RawResult(failure=environmental("mcp_gone", str(error)))
        except MCPError as error:
            return RawResult(failure=_refusal(str(error)))
        except ValueError:
            return RawResult(failure=_refusal("its answer has no form that an answer may have"))
        output = "\n".join(_shown(result)).encode(errors="replace")
        if len(output) > OUTPUT_BYTES_MAX:
            return RawResult(failure=environmental("output_limit", f"the answer is over {OUTPUT_BYTES_MAX} bytes"))
        return RawResult(stdout=output, failure=_refusal("the tool reported an error") if result.is_error else None)


def _refusal(words: str) -> ToolFailure:
    return logical("mcp_error", printable(words)[:FAULT_CHARACTERS_MAX])


def _shown(result: CallToolResult) -> Iterator[str]:
    """The parts of an answer as text; what is none is named."""
    for part in result.content:
        match part:
            case TextContent():
                yield part.text
            case ImageContent() | AudioContent():
                yield f"[{part.type} {part.mime_type}, {len(part.data) * 3 // 4} bytes]"
            case ResourceLink():
                yield f"[{part.name} <{part.uri}>]"
            case EmbeddedResource():
                held = part.resource
                yield held.text if isinstance(held, TextResourceContents) else f"[<{held.uri}>, no text]"
    if not result.content and result.structured_content is not None:
        yield json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))


def _is_bounded(tool: ListedTool) -> bool:
    try:
        return len(canonical_bytes(tool.input_schema)) <= SCHEMA_BYTES_MAX
    except ValueError:
        return False


def _validator(schema: JsonObject) -> Draft202012Validator | None:
    """None for what would have to be fetched, could run in circles, or is no schema of this dialect."""
    known = {key: value for key, value in schema.items() if key != "$schema"}
    if any(word in canonical_bytes(known) for word in _REFERENCES):
        return None
    try:
        return Draft202012Validator(known, pattern_options=_PATTERNS, offline=True)
    except (ValueError, TypeError):
        return None
