"""Requests and answers of a scripted server: as much of HTTP/1.1 as a client of ours needs."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request. The names of its headers are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> WireRequest | None:
    """The next request of a connection; None if it ended between two."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise
        return None
    first, *rest = raw.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return WireRequest(method=method, path=path, headers=headers, body=body)


def head_of(status: int, content_type: str, headers: Mapping[str, str], length: int | None = None) -> bytes:
    """Status line and headers; without a `length` the body comes in chunks."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {content_type}", size]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write, and wait until the connection takes more."""
    writer.write(data)
    await writer.drain()
