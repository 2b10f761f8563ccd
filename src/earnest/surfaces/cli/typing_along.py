"""The line that a person types while a run is worked, for whoever draws the screen to show."""

import asyncio
import codecs
import contextlib
import os
import re
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Any, Final

from earnest.surfaces.cli.asking import LINE_BYTES_MAX, is_foreground

_ESCAPE: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?")
_LFLAG: Final = 3
"""The place of the local modes among what `tcgetattr` gives."""


class TypedLine:
    """Takes keys from the terminal within the block and hands in each line that is ended by Enter.

    Nothing is echoed, and Ctrl+C stays a signal. Where nobody sits before a terminal of ours, nothing is taken.
    """

    def __init__(self, hand_in: Callable[[str], object]) -> None:
        self.text = ""
        """What was typed of the line so far."""
        self._hand_in = hand_in
        self._descriptor = -1
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._before: list[Any] | None = None

    def __enter__(self) -> "TypedLine":
        if sys.stdin.isatty() and is_foreground():
            self._descriptor = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._descriptor)
            quiet = list(self._before)
            quiet[_LFLAG] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            with contextlib.suppress(termios.error):  # the terminal has gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The terminal as it was before, for a question."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def _read(self) -> None:
        try:
            typed = os.read(self._descriptor, LINE_BYTES_MAX)
        except OSError:
            typed = b""
        if not typed:  # the terminal has gone, and would be ready to be read for ever
            asyncio.get_running_loop().remove_reader(self._descriptor)
        keys = self._decoder.decode(typed)
        for key in _ESCAPE.sub("", keys):
            if key in "\r\n":
                line, self.text = self.text, ""
                self._hand_in(line)
            elif key in "\x7f\b":
                self.text = self.text[:-1]
            elif key == "\x15":  # Ctrl+U
                self.text = ""
            elif key.isprintable():
                self.text = (self.text + key)[:LINE_BYTES_MAX]
