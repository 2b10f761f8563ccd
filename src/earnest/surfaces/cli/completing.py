"""The options of `earnest` by which a shell completes its words: bash, zsh or fish, whichever the user's is."""

import os
from pathlib import Path
from typing import Final

import click

SOURCED: Final = {"bash": ". {path}", "zsh": "autoload -Uz compinit && compinit && . {path}"}
"""The line of a shell's own file that reads the script; fish needs none."""


def _script(context: click.Context) -> tuple[str, str]:
    """The user's shell, and its script."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    shell = Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError("words are completed in bash, zsh and fish: SHELL names none of them", context)
    return shell, kind(context.command, {}, "earnest", "_EARNEST_COMPLETE").source()


def _show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(_script(context)[1])
        context.exit()


def _install(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    shell, script = _script(context)
    home = Path.home()
    path = home / (f".earnest-complete.{shell}" if shell in SOURCED else ".config/fish/completions/earnest.fish")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    if shell in SOURCED:
        with (home / f".{shell}rc").open("a+", encoding="utf-8") as file:
            file.seek(0)
            if (line := SOURCED[shell].format(path=path)) not in file.read():
                file.write(f"\n{line}\n")
    click.echo(f"{shell} completion installed in {path}\nCompletion will take effect once you restart the terminal")
    context.exit()


install_completion_option = click.option(
    "--install-completion",
    is_flag=True,
    expose_value=False,
    callback=_install,
    help="Install completion for the current shell.",
)
show_completion_option = click.option(
    "--show-completion",
    is_flag=True,
    expose_value=False,
    callback=_show,
    help="Show completion for the current shell, to copy it or customize the installation.",
)
