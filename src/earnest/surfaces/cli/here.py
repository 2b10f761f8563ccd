"""What a command works on where it is typed: settings, books, a platform; loaded once a command asks for it."""

import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from earnest.foundation.errors import Refused
from earnest.surfaces import garbage

if TYPE_CHECKING:
    from earnest.app.platform import Platform
    from earnest.app.settings import Settings
    from earnest.effects.ground.storage.place import Books
    from earnest.effects.ground.storage.reader import BooksReader

T = TypeVar("T")


def settings_of(home: Path | None = None) -> "Settings":
    """The settings in force, those of another data directory if one is named."""
    from earnest.app.places import HOME_VARIABLE  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415

    return read_settings({**os.environ, HOME_VARIABLE: str(home)}) if home else read_settings()


def home_and_books(home: Path | None) -> "tuple[Path, Books]":
    """A data directory, by default the user's, and where its books are. No other setting is read."""
    from earnest.app.judging_settings import books_of  # noqa: PLC0415
    from earnest.app.places import home_of  # noqa: PLC0415

    place = home or home_of(os.environ)
    return place, books_of(place, os.environ)


def read_books(ask: "Callable[[BooksReader], T]", settings: "Settings | None" = None) -> T:
    """What the books answer, beside any writer. Raises `Refused`: `no_database`, and as the question does."""
    from earnest.app.readers import reading_books  # noqa: PLC0415

    with reading_books(settings or settings_of()) as books:
        return books.read_sync(ask)


def list_from_books(ask: "Callable[[BooksReader], tuple[T, ...]]") -> tuple[T, ...]:
    """The same of a list, which is empty before there are any books."""
    try:
        return read_books(ask)
    except Refused as refusal:
        if refusal.code != "no_database":
            raise
        return ()


def act(story: "Callable[[Platform], Awaitable[T]]") -> T:
    """What comes of it in a platform of its own, which holds the data directory meanwhile."""
    from earnest.app.platform import open_platform  # noqa: PLC0415

    async def work() -> T:
        async with open_platform(settings_of()) as platform:
            return await story(platform)

    return finish(work())


def finish(work: Coroutine[Any, Any, T]) -> T:
    """What it comes to, in an event loop of its own."""
    import asyncio  # noqa: PLC0415 - it takes longer to load than the help of every command

    garbage.work()
    return asyncio.run(work)


def finish_unless_stopped(work: Coroutine[Any, Any, T]) -> T:
    """The same. SIGTERM ends it as Ctrl+C does: what was begun is ended and tidied up."""
    import asyncio  # noqa: PLC0415

    async def stoppable() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return finish(stoppable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
