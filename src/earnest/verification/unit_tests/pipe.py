"""Messages across the pipe: each is its length, 4 bytes little endian, and one JSON list in ASCII."""

import json
from collections.abc import Callable
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from os import read, write
from typing import Any, Final, NoReturn

CHUNK_BYTES: Final = 1 << 16
HEAD: Final = 4
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


_scan: Any = json.JSONDecoder(parse_constant=_no_constant).scan_once  # type: ignore[attr-defined]
_encoder: Any = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":"))
if c_make_encoder is not None:  # made once, and not for each message
    _parts: Any = c_make_encoder(None, _encoder.default, encode_basestring_ascii, None, ":", ",", False, False, False)
else:

    def _parts(message: object, _: int) -> Any:
        return (_encoder.encode(message),)


def send(message: list[object]) -> None:
    """All of it. Raises `Closed` if nobody reads."""
    data = "".join(_parts(message, 0)).encode("ascii")
    frame = len(data).to_bytes(4, "little") + data
    try:
        written = write(WRITES, frame)
        while written < len(frame):
            written += write(WRITES, memoryview(frame)[written:])
    except OSError:
        raise Closed from None


class Incoming:
    """What comes in, message by message; more than `bytes_max` is none."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._rest = b""
        self.large: Callable[[int], None] | None = None  # is told of what is long, before it is read
        self.large_bytes = 0

    def receive(self) -> list[object]:
        """The next message. Raises `Closed` or `BadMessage`."""
        data = self._rest or self._more()
        while len(data) < HEAD:
            data += self._more()
        size = int.from_bytes(data[:HEAD], "little")
        if size > self._bytes_max:
            raise BadMessage(f"a message of {size} bytes")
        if self.large is not None and size >= self.large_bytes:
            self.large(size)
        end = size + HEAD
        if len(data) < end:
            parts, missing = [data], end - len(data)
            while missing > 0:
                parts.append(self._more(missing))
                missing -= len(parts[-1])
            data = b"".join(parts)
        self._rest = data[end:]
        try:
            text = str(data[HEAD:end], "ascii")
            message, last = _scan(text, 0)
        except (ValueError, RecursionError, StopIteration) as error:
            raise BadMessage(type(error).__name__) from None
        if last != len(text):
            raise BadMessage("more than a message")
        if type(message) is not list:
            raise BadMessage("no list")
        return message

    def _more(self, missing: int = 0) -> bytes:
        part = read(READS, max(missing, CHUNK_BYTES))
        if not part:
            raise Closed
        return part
