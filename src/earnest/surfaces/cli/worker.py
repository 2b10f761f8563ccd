"""`earnest worker`: judges what waits, in this process, until it is stopped."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earnest.surfaces.cli.here import finish, settings_of
from earnest.surfaces.cli.options import Whole, home_option
from earnest.surfaces.cli.printing import present

if TYPE_CHECKING:
    from earnest.app.settings import Settings


@click.command()
@click.option(
    "--kinds", default="verify,heartbeats", show_default=True, help="What to work at, of verify and heartbeats."
)
@click.option(
    "--stop-s",
    type=Whole(1, 86_400),
    default=60,
    show_default=True,
    help="Seconds for what is under way, when it is stopped.",
)
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object once it works.")
def worker(*, kinds: str, stop_s: int, home: Path | None, as_json: bool) -> None:
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
