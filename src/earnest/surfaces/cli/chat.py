"""`earnest chat`: one request after the other, each worked as a run, with what was said before in mind."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Final

import click

from earnest.foundation.errors import Unavailable, Waits
from earnest.foundation.version import VERSION
from earnest.surfaces.cli.printing import say

if TYPE_CHECKING:
    from concurrent.futures import Future

    from earnest.app.settings import Settings
    from earnest.surfaces.cli.prompt import LinePrompt

_AHEAD: Final = (
    "earnest.surfaces.cli.task",
    "earnest.surfaces.cli.live",
    "earnest.runtime.minds_of_models",
    "earnest.runtime.model_calls",
    "earnest.effects.outside.llm.openai_compatible",
)
"""What the first request needs."""
_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)


@click.command()
def chat() -> None:
    """Talk: type what is to be done, or /help.

    Ctrl+C ends the run that is being worked, or clears the line; Ctrl+D leaves. `earnest` alone on a terminal does the
    same as `earnest chat`.
    """
    import asyncio  # noqa: PLC0415 - it takes longer to load than the help of every command
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from earnest.surfaces.cli.asking import is_terminal  # noqa: PLC0415

    if not is_terminal():
        raise click.BadParameter("to talk takes a terminal; `earnest run` works a single task without one")
    try:
        from earnest.surfaces.cli.prompt import LinePrompt  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise Unavailable(f"{error.name} is not installed: install 'earnest[models]'") from error
    from earnest.surfaces.cli.conversation import COMMANDS  # noqa: PLC0415

    shown = Event()
    with ThreadPoolExecutor(1) as threads:
        ready = threads.submit(_settings, shown)
        prompt = LinePrompt(lambda: ready.result().home, [f"/{name}" for name in COMMANDS], shown.set)
        try:
            asyncio.run(talk(prompt, ready))
        finally:
            shown.set()


def _settings(shown: Event) -> "Settings":
    """The settings, after all that runs need was imported, which takes longer than the prompt may: that comes first.

    Nothing is imported beside it: of two threads that meet in a module one may see half of it.
    """
    shown.wait()
    for name in _AHEAD:
        import_module(name)
    from earnest.app.settings import read_settings  # noqa: PLC0415

    return read_settings()


async def talk(prompt: "LinePrompt", ready: "Future[Settings]") -> None:
    """Until there is nothing more to read. A signal ends it, and leaves the run to be resumed."""
    import asyncio  # noqa: PLC0415

    from earnest.surfaces.cli.asking import Terminal  # noqa: PLC0415
    from earnest.surfaces.cli.conversation import Conversation  # noqa: PLC0415

    conversation = Conversation(ready.result, Terminal())
    with contextlib.suppress(EOFError, asyncio.CancelledError):
        async with conversation:
            with _signals(conversation.interrupt):
                say(f"earnest {VERSION}: say what is to be done, or /help")
                while True:
                    text = await prompt.read()
                    keeping = asyncio.ensure_future(asyncio.to_thread(prompt.keep))
                    goes_on = await conversation.answer(text, ready)
                    await keeping
                    if not goes_on:
                        return
    if conversation.left:
        raise Waits(conversation.left, "the conversation was ended")


@contextlib.contextmanager
def _signals(interrupt: Callable[[], bool]) -> Iterator[None]:
    import asyncio  # noqa: PLC0415

    from earnest.surfaces.cli.asking import is_foreground  # noqa: PLC0415

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def heed() -> None:
        if not (is_foreground() and interrupt()):
            task.cancel()

    loop.add_signal_handler(signal.SIGINT, heed)
    for number in _ENDS:
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in (signal.SIGINT, *_ENDS):
            loop.remove_signal_handler(number)
