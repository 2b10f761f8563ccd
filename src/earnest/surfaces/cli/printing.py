"""Output: for people lines that cannot steer a terminal, for machines JSON."""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from earnest.foundation.text import printable

QUIET_NS: Final = 10 * 10**9


class NobodyListens(Exception):
    """The reader of stdout went away. Not an `OSError`: click would end with exit code 1, which is an answer."""


def say(*lines: str) -> None:
    """Print lines for people. Control characters, whoever wrote them, become visible."""
    for line in lines:
        _print(printable(line))


def say_json(value: Any) -> None:
    """Print one JSON value on a line of its own, in ASCII, so that any terminal, pipe and file name will do."""
    _print(json.dumps(value))


def present(form: Any, *lines: str, as_json: bool) -> None:
    """Print what a command found: its form for machines, or the lines for people."""
    if as_json:
        say_json(form)
    else:
        say(*lines)


def _print(line: str) -> None:
    with told_apart():
        print(line)  # noqa: T201 - this is the place that prints


@contextlib.contextmanager
def told_apart() -> Iterator[None]:
    """Within the block a pipe that nobody reads raises `NobodyListens`, no `OSError` that others take for theirs."""
    try:
        yield
    except BrokenPipeError as error:
        raise NobodyListens from error


def complain(lines: Iterable[str]) -> None:
    """Print lines on stderr, each with the program's name. Where nobody can hear them, there is nobody to tell."""
    with contextlib.suppress(OSError):
        for line in lines:
            print(f"earnest: {printable(line)}", file=sys.stderr)  # noqa: T201


def tell(line: str) -> None:
    """Print how far long work has come on stderr: each line replaces the last; for no terminal, one in ten seconds."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{printable(line)}", end="", file=sys.stderr, flush=True)  # noqa: T201
    elif line and _is_time():
        complain([line])


def _is_time(last_ns: list[int] = []) -> bool:  # noqa: B006 - kept from call to call
    """True once `QUIET_NS` have passed since the first call, or since it was true."""
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415 - it loads asyncio

    now_ns = SystemClock().ticks_ns()
    last_ns[:] = last_ns or [now_ns]
    if now_ns - last_ns[0] < QUIET_NS:
        return False
    last_ns[:] = [now_ns]
    return True


def prepare() -> None:
    """Let a stdout that cannot show every character show it escaped.

    What was closed leads nowhere, and takes its number: else the next file to be opened, such as the books, would.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def abandon_stdout() -> None:
    """Throw away what stdout would not take, so that the interpreter does not complain about it at its end."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as sink:
        os.dup2(sink.fileno(), sys.stdout.fileno())


def short(text: str, characters: int) -> str:
    """On one line, its blanks collapsed; cut to so many characters, the last of which then says so."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"
