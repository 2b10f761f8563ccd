"""`earnest worker`: judges what waits, in this process, until it is stopped."""

import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from earnest.surfaces.cli.here import finish, settings_of
from earnest.surfaces.cli.options import Home
from earnest.surfaces.cli.printing import present

if TYPE_CHECKING:
    from earnest.app.settings import Settings


def worker(
    kinds: Annotated[str, typer.Option(help="What to work at, of verify and heartbeats.")] = "verify,heartbeats",
    stop_s: Annotated[
        int, typer.Option("--stop-s", min=1, max=86_400, help="Seconds for what is under way, when it is stopped.")
    ] = 60,
    home: Home = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object once it works.")] = False,
) -> None:
    """Judge what was handed in to servers with the same books.

    It then begins nothing more and ends what it is at; a second signal leaves that to others at once.

    Exit codes: 0 stopped, 3 it could not begin.
    """
    from earnest.app.worker import kinds_of  # noqa: PLC0415

    wanted = kinds_of(kinds)
    finish(_work(settings_of(home), wanted, stop_s, as_json=as_json))


async def _work(settings: "Settings", kinds: tuple[str, ...], stop_s: int, *, as_json: bool) -> None:
    import asyncio  # noqa: PLC0415

    from earnest.app.worker import open_worker  # noqa: PLC0415
    from earnest.effects.ground.systemd import READY, STOPPING, notify  # noqa: PLC0415

    loop, told = asyncio.get_running_loop(), asyncio.Queue[int]()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.put_nowait, number)
    async with open_worker(settings, kinds) as worker:
        present(
            {"kinds": kinds, "books": str(settings.books), "home": str(settings.home)},
            f"earnest works at {', '.join(kinds)} of {settings.books}",
            as_json=as_json,
        )
        sys.stdout.flush()  # whoever started us through a pipe waits for it
        notify(READY)
        ending, asked = asyncio.ensure_future(worker.ended()), asyncio.ensure_future(told.get())
        await asyncio.wait([ending, asked], return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            notify(STOPPING)
            worker.leave()
            again = asyncio.ensure_future(told.get())
            await asyncio.wait([ending, again], timeout=stop_s, return_when=asyncio.FIRST_COMPLETED)
            again.cancel()
        asked.cancel()
        if ending.done():
            ending.result()
        ending.cancel()
