"""An Ollama on this machine, and its models."""

import asyncio
import json
from typing import Final

ADDRESS: Final = ("127.0.0.1", 11434)
WAIT_MS: Final = 1_000
LISTING_BYTES_MAX: Final = 1024 * 1024
NAMES_MAX: Final = 100
NAME_CHARACTERS_MAX: Final = 200


async def local_models(host: str, port: int) -> tuple[str, ...]:
    """The names that it lists, its own order kept; none if nobody answers in time, or with something else."""
    try:
        async with asyncio.timeout(WAIT_MS / 1000):
            listing = json.loads(await _get(host, port))
        names = [entry["id"] for entry in listing["data"][:NAMES_MAX]]
    except (OSError, TimeoutError, ValueError, LookupError, TypeError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str) and 0 < len(name) <= NAME_CHARACTERS_MAX)


async def _get(host: str, port: int) -> bytes:
    """The body of `/v1/models`. HTTP/1.0, so that it comes in one piece and the connection ends with it."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"GET /v1/models HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = bytearray()
        while len(answer) <= LISTING_BYTES_MAX and (piece := await reader.read(65_536)):
            answer += piece
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1] != b"200" or len(answer) > LISTING_BYTES_MAX:
        raise ValueError("no listing")
    return bytes(body)
