"""`earnest keys`: how does the operator come in?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.app.settings import Settings

app = typer.Typer(help="Keys of the platform in the data directory.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Keys of the platform in the data directory."""  # a group of one command needs this to stay a group


@app.command("operator-link")
def operator_link(home: Annotated[Path | None, typer.Option(help="The data directory.")] = None) -> None:
    """Print a link that makes its reader the operator, or logs the operator in: once, within 24 hours.

    It works beside a running platform. Exit codes: 0 printed, 3 there is no platform yet, or its keys are damaged.
    """
    from earnest.app.server import operator_link_for  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say  # noqa: PLC0415
    from earnest.surfaces.web.serving import url_of  # noqa: PLC0415

    settings = settings_of(home)
    say(f"{url_of(settings.server, settings.server.port)}/setup/{operator_link_for(settings)}")


def settings_of(home: Path | None) -> "Settings":
    """The settings in force, those of another data directory if one is named."""
    import os  # noqa: PLC0415

    from earnest.app.settings import HOME_VARIABLE, read_settings  # noqa: PLC0415

    return read_settings({**os.environ, HOME_VARIABLE: str(home)} if home else os.environ)
