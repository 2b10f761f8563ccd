"""Options that several commands have in common."""

from pathlib import Path
from typing import Annotated

import typer

As = Annotated[str, typer.Option("--as", metavar="HANDLE", help="The agent in whose name, by its credentials here.")]
Home = Annotated[Path | None, typer.Option(help="The data directory.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OneJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
RunId = Annotated[
    str | None, typer.Argument(metavar="RUN", help="A run's id, or its beginning. Default: the newest run.")
]
