"""The line in which a person types a request: edited, with a history, pasted lines and completed commands."""

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, History, ThreadedHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from earnest.foundation.errors import EarnestError

HISTORY_NAME: Final = "chat_history"
HISTORY_BYTES_MAX: Final = 1024 * 1024
_ENTRY: Final = b"\n# "
"""What every entry of the history begins with."""


class LinePrompt:
    """Reads one request after the other. `commands` are completed at the beginning of a line.

    Enter hands in, also what was pasted with its line breaks; Alt+Enter breaks the line. Ctrl+C clears, Ctrl+D on an
    empty line leaves. `home`, where the history is, is asked for in another thread, since it may take a while to know.
    `on_shown` is called whenever the prompt has been drawn.
    """

    def __init__(self, home: Callable[[], Path], commands: Sequence[str], on_shown: Callable[[], None]) -> None:
        self._kept = _Kept(home)
        self._session: PromptSession[str] = PromptSession(
            "earnest> ",
            history=ThreadedHistory(self._kept),
            completer=WordCompleter(list(commands), sentence=True),
            key_bindings=_keys(),
            prompt_continuation="       … ",
        )
        self._session.app.after_render += lambda _: on_shown()

    async def read(self) -> str:
        """The next request. Raises `EOFError` if there will be none."""
        return await self._session.prompt_async(handle_sigint=False)

    def keep(self) -> None:
        """Write what was read to the history, as soon as it is known where that is."""
        self._kept.keep()


class _Kept(History):
    """The history in a file of the data directory; none as long as there is no such directory to be had."""

    def __init__(self, home: Callable[[], Path]) -> None:
        super().__init__()
        self._home = home
        self._unkept: list[str] = []

    @cached_property
    def _file(self) -> FileHistory:
        return FileHistory(_history(self._home()))

    def load_history_strings(self) -> Iterable[str]:
        """The newest first."""
        with suppress(OSError, EarnestError):
            yield from self._file.load_history_strings()

    def store_string(self, string: str) -> None:
        """Have it appended by `keep`: Enter waits neither for settings nor for a disk, or Ctrl+C would wait with it."""
        self._unkept.append(string)

    def keep(self) -> None:
        """Append what was handed in since."""
        strings, self._unkept = self._unkept, []
        with suppress(OSError, EarnestError):
            for string in strings:
                self._file.store_string(string)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add(Keys.ControlC)
    def _clear(event: KeyPressEvent) -> None:
        event.current_buffer.reset()

    @keys.add(Keys.Escape, Keys.Enter)
    def _break(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys


def _history(home: Path) -> Path:
    """The file, which nobody else may read; of one that has grown too large, the newer half."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = home / HISTORY_NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "rb") as file:
        os.fchmod(file.fileno(), 0o600)
        if file.seek(0, os.SEEK_END) > HISTORY_BYTES_MAX:
            file.seek(-HISTORY_BYTES_MAX // 2, os.SEEK_END)
            _replace(path, _ENTRY + file.read().partition(_ENTRY)[2])
    return path


def _replace(path: Path, content: bytes) -> None:
    descriptor, draft = tempfile.mkstemp(dir=path.parent)  # mode 0600
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(draft).replace(path)
