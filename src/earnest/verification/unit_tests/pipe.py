"""How do messages cross the pipe? Each is its length, 4 bytes little endian, and one JSON list in ASCII."""

import json
from os import read, write
from typing import Final, NoReturn

CHUNK_BYTES: Final = 1 << 16
READS: Final = 3
WRITES: Final = 4
REQUEST_BYTES_MAX: Final = 64 << 20
ANSWER_BYTES_MAX: Final = 16 << 20


class Closed(Exception):
    """The other side is gone."""


class BadMessage(Exception):
    """What came is no message."""


def _no_constant(_: str) -> NoReturn:
    raise ValueError("no number")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode
_encode = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":")).encode


def send(message: list[object], descriptor: int = WRITES) -> None:
    """All of it. Raises `Closed` if nobody reads."""
    data = _encode(message).encode("ascii")
    view = memoryview(len(data).to_bytes(4, "little") + data)
    try:
        while view:
            view = view[write(descriptor, view) :]
    except OSError:
        raise Closed from None


class Incoming:
    """What comes in, message by message; more than `bytes_max` is none."""

    def __init__(self, bytes_max: int, descriptor: int = READS) -> None:
        self._bytes_max = bytes_max
        self._descriptor = descriptor
        self._rest = b""

    def receive(self) -> list[object]:
        """The next message. Raises `Closed` or `BadMessage`."""
        size = int.from_bytes(self._take(4), "little")
        if size > self._bytes_max:
            raise BadMessage(f"a message of {size} bytes")
        try:
            message: object = _decode(str(self._take(size), "ascii"))
        except (ValueError, RecursionError) as error:
            raise BadMessage(type(error).__name__) from None
        if type(message) is not list:
            raise BadMessage("no list")
        return message

    def _take(self, size: int) -> bytes:
        if len(self._rest) < size:
            parts, missing = [self._rest], size - len(self._rest)
            while missing > 0:
                part = read(self._descriptor, max(missing, CHUNK_BYTES))
                if not part:
                    raise Closed
                parts.append(part)
                missing -= len(part)
            self._rest = b"".join(parts)
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
