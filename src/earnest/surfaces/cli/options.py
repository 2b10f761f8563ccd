"""How commands are declared: groups, paths, whole numbers, and options that several commands have in common."""

from pathlib import Path
from typing import Final, NoReturn

import click


class Group(click.Group):
    """A group that lists its commands in the order in which they are declared."""

    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """See `click.Group`."""
        return list(self.commands)


class Whole(click.IntRange):
    """A whole number; what is none of its range is told in the words that settings are told in."""

    name = "number"

    def fail(self, message: str, param: click.Parameter | None = None, ctx: click.Context | None = None) -> NoReturn:  # noqa: ARG002
        """See `click.ParamType`."""
        upper = "up" if self.max is None else f"to {self.max}"
        super().fail(f"must be a whole number from {self.min} {upper}", param, ctx)


PATH: Final = click.Path(readable=False, path_type=Path)
"""What is wrong with a file is told by whoever opens it."""

as_option = click.option(
    "--as", "as_", metavar="HANDLE", default="", help="The agent in whose name, by its credentials here."
)
home_option = click.option("--home", type=PATH, help="The data directory.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
one_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
json_lines_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
run_argument = click.argument("run", required=False, help="A run's id, or its beginning. Default: the newest run.")
