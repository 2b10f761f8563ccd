"""`earnest dashboard`: what was run here and what came of it, in a browser, until it is stopped."""

import sys
from contextlib import suppress
from pathlib import Path

import click

from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.options import Whole, home_option
from earnest.surfaces.cli.printing import say, say_json


@click.command()
@click.option("--port", type=Whole(0, 65_535), default=0, show_default=True, help="On which port; 0: any free one.")
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object once it listens.")
def dashboard(*, port: int, home: Path | None, as_json: bool) -> None:
    """Show this data directory in a browser, read-only, on this machine only.

    It can stand beside anything that writes there. A platform (`earnest serve`) has its own, at `/`.

    Exit codes: 0 stopped, 3 it could not begin.
    """
    from earnest.app import places  # noqa: PLC0415
    from earnest.app.readers import reading_books  # noqa: PLC0415
    from earnest.app.server_settings import ServerSettings  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemChance, SystemClock  # noqa: PLC0415
    from earnest.identity.key import base62  # noqa: PLC0415
    from earnest.surfaces.dashboard.local import local_app, serve_local  # noqa: PLC0415
    from earnest.surfaces.web.serving import listen, served_at  # noqa: PLC0415

    settings = settings_of(home)
    secret = base62(SystemChance().secret())
    with reading_books(settings) as books, listen(ServerSettings(port=port)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/?secret={secret}"

        def begun() -> None:
            if as_json:
                say_json({"url": url, "home": str(settings.home)})
            else:
                say(f"earnest shows {settings.home}, to whoever opens this address on this machine:", url)
                if places.address(settings.home).exists():
                    say(f"A platform is served from it, too: {served_at(settings)} shows that, and takes decisions.")
            sys.stdout.flush()  # whoever started us through a pipe waits for it

        with suppress(KeyboardInterrupt):
            serve_local(local_app(books, settings, SystemClock(), secret), listener, begun)
