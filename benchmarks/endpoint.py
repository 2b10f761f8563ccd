"""A model endpoint for measurements: answers every chat after so many milliseconds, streamed or not. One process.

Run with `python benchmarks/endpoint.py LATENCY_MS [PIECES]`; it prints its port and serves until its stdin closes. The
answer is `{"answer": "…"}`, streamed in so many pieces, each an HTTP chunk of its own.
"""

import asyncio
import json
import sys

ANSWER = json.dumps({"answer": "It is what it is, and here are some more words to make a whole sentence of it."})
USAGE = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}


def frame(kind: str, choices: list[object], **more: object) -> dict[str, object]:
    return {"id": "c-1", "object": kind, "created": 1_750_000_000, "model": "mock", "choices": choices, **more}


def whole() -> bytes:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": ANSWER},
        "finish_reason": "stop",
        "logprobs": None,
    }
    body = json.dumps(frame("chat.completion", [choice], usage=USAGE)).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def streamed(pieces: int) -> bytes:
    step = -(-len(ANSWER) // pieces)
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": ANSWER[at : at + step]} for at in range(0, len(ANSWER), step)]
    choices: list[object] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    frames = [frame("chat.completion.chunk", [choice]) for choice in choices]
    frames.append(frame("chat.completion.chunk", [], usage=USAGE))
    events = [b"data: %b\n\n" % json.dumps(one).encode() for one in frames] + [b"data: [DONE]\n\n"]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


class Endpoint(asyncio.Protocol):
    """Keeps connections open; one request at a time on each."""

    def __init__(self, latency_s: float, pieces: int) -> None:
        self._latency_s = latency_s
        self._answers = {True: streamed(pieces), False: whole()}
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if not found or len(body) < sum(lengths):
            return
        self._received = b""
        answer = self._answers[json.loads(body).get("stream") is True]
        asyncio.get_running_loop().call_later(self._latency_s, self._answer, answer)

    def _answer(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


async def serve(latency_ms: int, pieces: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Endpoint(latency_ms / 1000, pieces), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8))
