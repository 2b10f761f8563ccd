"""`earnest environment`: the packages that playbooks, specifications and settings ask for."""

from pathlib import Path

import click

from earnest.surfaces.cli.options import PATH, Group, json_option
from earnest.surfaces.cli.printing import complain, present, say


@click.group(cls=Group)
def environment() -> None:
    """Packages for sandboxes: build, list, remove."""


@environment.command()
@click.argument("file", required=False, type=PATH, help="A playbook or specification; without it, the settings.")
@json_option
def build(*, file: Path | None, as_json: bool) -> None:
    """Fetch the packages that a file asks for, for its sandboxes.

    This is the only command that fetches packages. They are wheels: none of their code runs while they are built.
    """
    from earnest.app.building import built  # noqa: PLC0415
    from earnest.app.judging_settings import read_judging_settings  # noqa: PLC0415
    from earnest.effects.hands.environments.recipe import Recipe  # noqa: PLC0415

    def announce(recipe: Recipe, program: str) -> None:
        complain([f"{program} fetches {', '.join(line.partition(' --hash')[0] for line in recipe.lines)}"])

    found, was_there = built(file, read_judging_settings(), announce)
    present(
        {"id": found.id, "digest": found.digest, "packages": list(found.packages), "was_there": was_there},
        f"{'built already' if was_there else 'built'}: {found.id[:12]}  {' '.join(found.packages)}",
        as_json=as_json,
    )


@environment.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List what was built, with the packages of each."""
    from earnest.app.judging_settings import read_judging_settings  # noqa: PLC0415
    from earnest.app.sandboxes import environments  # noqa: PLC0415

    found = list(environments(read_judging_settings()).all())
    present(
        [{"id": one.id, "digest": one.digest, "packages": list(one.packages)} for one in found],
        *(f"{one.id[:12]}  {' '.join(one.packages)}" for one in found),
        as_json=as_json,
    )


@environment.command()
@click.argument("identity", metavar="ID", help="Its id, or how that begins.")
def remove(*, identity: str) -> None:
    """Remove an environment. Runs and verdicts that need it say so, and how to build it again."""
    from earnest.app.judging_settings import read_judging_settings  # noqa: PLC0415
    from earnest.app.sandboxes import environments  # noqa: PLC0415

    say(f"removed {environments(read_judging_settings()).remove(identity).id[:12]}")
