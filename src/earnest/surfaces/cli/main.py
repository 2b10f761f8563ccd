"""The command `earnest`: doors only. Nothing heavy is imported before a command needs it."""

import sys
from typing import Annotated

import typer

from earnest import __version__
from earnest.surfaces.cli import (
    audit,
    chat,
    doctor,
    dream,
    edits,
    heartbeat,
    jobs,
    journal,
    keys,
    memory,
    review,
    run,
    runs,
    serve,
    simulate,
    verify,
    wallet,
)

app = typer.Typer(
    name="earnest",
    help="Work under contract: promises with criteria, recorded evidence, verdicts, consequences.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(name="chat")(chat.chat)
app.command(name="run")(run.run)
app.command(name="runs")(runs.runs)
app.command(name="show")(runs.show)
app.command(name="diff")(edits.diff)
app.command(name="apply")(edits.apply)
app.command(name="undo")(edits.undo)
app.command(name="verify")(verify.verify)
app.command(name="replay")(verify.replay)
app.command(name="dream")(dream.dream)
app.command(name="serve")(serve.serve)
app.command(name="simulate")(simulate.simulate)
app.command(name="recompute")(simulate.recompute)
app.command(name="doctor")(doctor.doctor)
app.add_typer(audit.app, name="audit")
app.add_typer(memory.app, name="memory")
app.add_typer(review.app, name="review")
app.add_typer(journal.app, name="journal")
app.add_typer(keys.app, name="keys")
app.add_typer(heartbeat.app, name="heartbeat")
app.add_typer(jobs.app, name="jobs")
app.command(name="wallet")(wallet.wallet)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"earnest {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - answered by its callback
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Work under contract: promises with criteria, recorded evidence, verdicts, consequences."""
    if context.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            typer.echo(context.get_help(), err=True)
            raise typer.Exit(3)
        chat.chat()


def main() -> None:
    """The console script. Whatever goes wrong ends with a message and an exit code, never with a traceback."""
    from earnest.surfaces.cli.endings import ending_of  # noqa: PLC0415 - only after the arguments were read
    from earnest.surfaces.cli.printing import prepare  # noqa: PLC0415

    prepare()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # Python's own exit code 1 would be read as an answer
        code = ending_of(error)
    sys.exit(code)
