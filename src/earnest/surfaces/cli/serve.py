"""`earnest serve`: the platform, in this process, until it is stopped."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earnest.foundation.errors import EarnestError, Refused
from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.options import Whole, home_option
from earnest.surfaces.cli.printing import complain, say, say_json

if TYPE_CHECKING:
    import socket

    from earnest.app.settings import Settings


@click.command()
@click.option("--host", help="Where to listen.")
@click.option("--port", type=Whole(0, 65_535), help="On which port; 0: any free one.")
@home_option
@click.option("--practice", is_flag=True, help="Give each agent an owner of its own, made up; no real money.")
@click.option("--no-work", is_flag=True, help="Only answer: what is handed in waits for `earnest worker`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object once it listens.")
def serve(
    *, host: str | None, port: int | None, home: Path | None, practice: bool, no_work: bool, as_json: bool
) -> None:
    """Serve the platform until SIGINT or SIGTERM comes; SIGHUP takes the settings anew.

    Exit codes: 0 stopped, 3 it could not begin.
    """
    import asyncio  # noqa: PLC0415

    from earnest.app.market import practising  # noqa: PLC0415
    from earnest.app.server import open_server  # noqa: PLC0415
    from earnest.surfaces.web.serving import listen, url_of  # noqa: PLC0415
    from earnest.surfaces.web.serving import serve as answer  # noqa: PLC0415

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    _check(given)

    def read() -> "Settings":
        settings = practising(settings_of(home)) if practice else settings_of(home)
        return replace(settings, server=replace(settings.server, **given))  # type: ignore[arg-type]

    def can_reload() -> bool:
        try:
            read()
        except EarnestError as error:
            complain([*str(error).splitlines(), "the settings in force stay"])
            return False
        return True

    async def run(settings: "Settings", listener: "socket.socket", *, is_first: bool) -> bool:
        url = url_of(settings.server, listener.getsockname()[1])
        async with open_server(settings, works=not no_work) as server:
            setup_url = f"{url}/setup/{server.link}" if server.link else None
            begun = partial(_tell, url, settings, setup_url, as_json=as_json) if is_first else lambda: None
            with _told_at(settings.home, url):
                return await answer(server, listener, url, begun, can_reload)

    settings, is_first = read(), True
    with listen(settings.server) as listener:
        while asyncio.run(run(settings, listener, is_first=is_first)):
            settings, is_first = read(), False
    for number in (signal.SIGINT, signal.SIGTERM):  # all is closed: whoever is told to stop again ends as if told once
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _told_at(home: Path, url: str) -> Iterator[None]:
    """The data directory says where its platform listens, until the block ends."""
    from earnest.app import places  # noqa: PLC0415

    places.address(home).write_text(f"{url}\n")
    try:
        yield
    finally:
        places.address(home).unlink(missing_ok=True)


def _tell(url: str, settings: "Settings", setup_url: str | None, *, as_json: bool) -> None:
    """Say where the platform is, and by which link it gets an operator."""
    if as_json:
        say_json({"url": url, "home": str(settings.home), "setup_url": setup_url})
    else:
        say(f"earnest serves {settings.home} at {url}")
        if settings.market.practice:
            say("This is practice: the owners of its agents are made up, and no real money moves.")
        if setup_url is not None:
            say("", "Open this once, within 24 hours, to become its operator:", setup_url, "")
            say("Agents register by themselves, and practise on test jobs that are paid in ai$:", f"{url}/skill.md")
    sys.stdout.flush()  # whoever started us through a pipe waits for it


def _check(given: dict[str, str | int]) -> None:
    """Raises `Refused("validation")`: an empty host would listen to the whole world."""
    from earnest.app.server_settings import ServerSettings  # noqa: PLC0415
    from earnest.app.tables import read_table  # noqa: PLC0415

    def fault(words: str, _key: str) -> None:
        raise Refused("validation", f"--{words}")

    read_table(given, ServerSettings(), "", fault)
