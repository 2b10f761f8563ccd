"""`earnest init` and `earnest lint`: files to start from, and what is wrong with a file."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import click

from earnest.foundation.errors import Faulty
from earnest.surfaces.cli.options import PATH, one_json_option
from earnest.surfaces.cli.printing import say, say_json

NEXT: Final[Mapping[str, tuple[str, ...]]] = {
    "playbook": ("earnest lint {folder}/playbook.yaml", "earnest run {folder}/playbook.yaml"),
    "spec": ("earnest lint {folder}/spec.yaml", "earnest verify {folder}/spec.yaml {folder}/work"),
    "heartbeat": ("earnest lint {folder}/HEARTBEAT.md", "earnest heartbeat show {folder}/HEARTBEAT.md"),
}
"""What can be begun, and lines to type then. Each has a folder in `templates`, whose files work as they stand."""
_FORMAT: Final = re.compile(r"^format:[ \t]*(?P<name>[\w-]+)", re.MULTILINE)
_HEAD_BYTES: Final = 64 * 1024


@click.command()
@click.argument(
    "kind", type=click.Choice(("playbook", "spec", "heartbeat")), metavar="KIND", help="playbook, spec or heartbeat."
)
@click.argument("folder", type=PATH, default=Path(), help="Where; made if it is not there.  [default: .]")
def init(*, kind: Literal["playbook", "spec", "heartbeat"], folder: Path) -> None:
    """Write working files to start from; nothing is overwritten.

    Exit codes: 0 written, 3 a file is there already.
    """
    wanted = dict(_found(Path(__file__).with_name("templates") / kind))
    if there := [name for name in wanted if (folder / name).exists()]:
        raise click.BadParameter(f"{folder / there[0]} is there already")
    for name, text in wanted.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    say(*(f"wrote {folder / name}" for name in wanted), "", *(line.format(folder=folder) for line in NEXT[kind]))


@click.command()
@click.argument(
    "named", nargs=-1, required=True, type=PATH, metavar="FILE...", help="Playbooks, specifications, HEARTBEAT.md."
)
@one_json_option
def lint(*, named: tuple[Path, ...], as_json: bool) -> None:
    """Find faults in files, each with its line.

    Exit codes, of several files the highest: 0 nothing, 1 lines of a HEARTBEAT.md that are not what they seem, 2 a
    specification of which not every check could be tried, 3 anything else that is wrong.
    """
    from earnest.surfaces.cli.endings import ending_of  # noqa: PLC0415

    codes = [0]
    for file in named:
        try:
            codes.append(_lint(file, as_json=as_json))
        except (Faulty, OSError) as error:
            codes.append(ending_of(error))
    raise click.exceptions.Exit(max(codes))


def _lint(file: Path, *, as_json: bool) -> int:
    if file.suffix == ".md":
        from earnest.surfaces.cli import heartbeat  # noqa: PLC0415

        return heartbeat.linted(file, as_json=as_json)
    if _format_of(file) == "earnest-spec-v1":
        from earnest.surfaces.cli.verifying import try_spec  # noqa: PLC0415

        return try_spec(file, as_json=as_json)
    from earnest.app.readers import order_of  # noqa: PLC0415
    from earnest.runtime.order import Grants  # noqa: PLC0415

    order_of(file, Grants())
    say_json({"complaints": []}) if as_json else say(f"{file}: nothing is wrong with it")
    return 0


def _found(folder: Path) -> Iterator[tuple[str, str]]:
    """The name of each file below, and its text. What tools would take for code of ours ends in `.txt` here."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix().removesuffix(".txt"), path.read_text(encoding="utf-8")


def _format_of(file: Path) -> str:
    """What a YAML file says that it is."""
    with file.open("rb") as source:
        found = _FORMAT.search(source.read(_HEAD_BYTES).decode(errors="replace"))
    return found["name"] if found else ""
