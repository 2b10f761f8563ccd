"""`earnest diff`, `apply` and `undo`: what a run changed in the user's own files, and whether it takes their place."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.here import finish, settings_of
from earnest.surfaces.cli.options import one_json_option, run_argument
from earnest.surfaces.cli.printing import complain, say, say_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from earnest.effects.hands.edits.step import EditStep
    from earnest.runtime.edits.applying import Edits
    from earnest.runtime.edits.change import EditChange, RunChange
    from earnest.runtime.edits.outside import EditPart

DIFF_LINES_MAX = 200
FILES_SHOWN = 100
MADE_SHOWN = 200
CONFLICT = 2


@click.command()
@run_argument
@click.option("--stat", is_flag=True, help="Name the files and count their lines only.")
@one_json_option
def diff(*, run: str | None, stat: bool, as_json: bool) -> None:
    """Show what a run changed in files to edit, for `patch -p1`."""
    change = _change(run)
    if as_json:
        say_json(change_form(change))
    elif stat or change.is_empty:
        say(*stat_lines(change, sys.maxsize))
    else:
        say(*diff_lines(change))


@click.command()
@run_argument
@click.option("--unverified", is_flag=True, help="Apply what no verdict accepted; asks first.")
@click.option("--merge", is_flag=True, help="Join texts that were changed meanwhile, as git does.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def apply(*, run: str | None, unverified: bool, merge: bool, yes: bool) -> None:
    """Apply what a run changed to the originals: all or nothing.

    Exit codes: 0 applied, 2 nothing was applied because files have changed since the run was given them, 3 anything
    else. An unverified change is applied only after a yes.
    """
    change = _change(run)
    if unverified and not change.is_accepted and not yes and not _confirmed(change):
        raise click.exceptions.Exit(3)
    raise click.exceptions.Exit(
        _act(lambda edits: apply_told(edits, change.run_id, unverified=unverified, merge=merge))
    )


@click.command()
@run_argument
def undo(*, run: str | None) -> None:
    """Restore what a run replaced or deleted, unless changed since. Exit codes as for `apply`."""
    from earnest.app.readers import run_of  # noqa: PLC0415

    run_id = run_of(settings_of(), run)
    raise click.exceptions.Exit(_act(lambda edits: undo_told(edits, run_id)))


async def _told(run_id: str, acting: "Awaitable[tuple[EditPart, ...]]", told: str, hint: str = "") -> int:
    """Apply or take back, and say what became of it; the exit code."""
    try:
        parts = await acting
    except Refused as refused:
        if refused.code != "edit_conflict":
            raise
        complain([*str(refused).splitlines(), *([hint] if hint else [])])
        return CONFLICT
    for part in parts:
        say(f"{part.path}: {len(part.steps)} path{'s' * (len(part.steps) != 1)} {told}")
    if not parts:
        say(f"{run_id}: there is nothing to do")
    return 0


async def apply_told(edits: "Edits", run_id: str, *, unverified: bool = False, merge: bool = False) -> int:
    """Apply it, and say what became of it; the exit code."""
    hint = "" if merge else f"`earnest apply {run_id} --merge` joins what can be joined"
    told = f"applied; `earnest undo {run_id}` takes it back"
    return await _told(run_id, edits.apply(run_id, unverified=unverified, merge=merge), told, hint)


async def undo_told(edits: "Edits", run_id: str) -> int:
    """Take it back, and say what became of it; the exit code."""
    return await _told(run_id, edits.undo(run_id), "taken back")


def _act(story: "Callable[[Edits], Awaitable[int]]") -> int:
    from earnest.app.own_runs import open_edits  # noqa: PLC0415

    async def work() -> int:
        async with open_edits(settings_of()) as edits:
            return await story(edits)

    return finish(work())


def offer(run_id: str, *, unasked: bool) -> None:
    """After a verdict that accepts: show the change, if there can be one, and ask once; else say how to apply it."""
    from earnest.app.readers import change_if_any  # noqa: PLC0415
    from earnest.surfaces.cli.asking import is_terminal  # noqa: PLC0415

    change = change_if_any(settings_of(), run_id)
    if change is None:
        return
    if change.is_empty:
        say("", *stat_lines(change))
        return
    if unasked or (is_terminal() and _wanted(change)):
        if code := _act(lambda edits: apply_told(edits, run_id)):
            raise click.exceptions.Exit(code)
    else:
        say("", *stat_lines(change), f"your files are as they were: `earnest apply {run_id}` applies this")


def _wanted(change: "RunChange") -> bool:
    lines = list(diff_lines(change))
    say("", *(lines if len(lines) <= DIFF_LINES_MAX else stat_lines(change)))
    while True:
        answer = click.prompt("apply it? [y]es, [s]how, [k]eep for later", default="k", show_default=False).lower()
        if answer in {"s", "show"}:
            say(*lines)
        else:
            return answer in {"y", "yes"}


def _confirmed(change: "RunChange") -> bool:
    unmet = change.result.unmet if change.result else ()
    say("no verdict accepted this:", *(f"  unmet  {one.text} ({one.reason})" for one in unmet), *stat_lines(change))
    if not sys.stdin.isatty():
        complain(["nobody is there to ask: --yes applies it"])
        return False
    return click.confirm("apply it all the same?", default=False)


def _change(run: str | None) -> "RunChange":
    from earnest.app.readers import change_of  # noqa: PLC0415

    return change_of(settings_of(), run)


def diff_lines(change: "RunChange") -> Iterator[str]:
    """All edits as one diff."""
    for edit in change.edits:
        yield from edit.diff()


def stat_lines(change: "RunChange", files_max: int = FILES_SHOWN) -> Iterator[str]:
    """One line a file, for as many as may be shown, and what became of the change."""
    yield from (f"  not in the copy: {what}" for what in change.left_out)
    if change.is_empty:
        yield "nothing was changed"
        return
    steps = [(edit, step) for edit in change.edits for step in edit.steps]
    for edit, step in steps[:files_max]:
        form = _step_form(edit, step)
        counted = "" if form["added"] is None else f"  +{form['added']} -{form['removed']}"
        yield f"  {form['kind']:<8} {form['path']}{counted}"
    if len(steps) > files_max:
        yield f"  and {len(steps) - files_max} more: `earnest diff {change.run_id} --stat` names all"
    yield f"{change.run_id}: {change.standing}"


def change_form(change: "RunChange") -> dict[str, object]:
    """The change as JSON."""
    edits = [
        {
            "name": edit.name,
            "path": str(edit.path),
            "files": [_step_form(edit, step) for step in edit.steps],
            "links": list(edit.links),
        }
        for edit in change.edits
    ]
    return {
        "run": change.run_id,
        "standing": change.standing,
        "accepted": change.is_accepted,
        "left_out": list(change.left_out),
        "edits": edits,
        "diff": "\n".join(diff_lines(change)),
    }


def made_lines(workspace: Path) -> list[str]:
    """The files that a run left, and their sizes in bytes: so many of them as may be shown."""
    found = list(islice(_files(workspace), MADE_SHOWN + 1))
    shown = found[:MADE_SHOWN]
    lines = [f"{path.stat(follow_symlinks=False).st_size:>12}  {path.relative_to(workspace)}" for path in shown]
    more = [f"and more than these {MADE_SHOWN}: {workspace}"] if len(found) > MADE_SHOWN else []
    return [*lines, *more] if found else ["no files"]


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder in the order of their names; links are not followed."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        else:
            yield path


def _step_form(edit: "EditChange", step: "EditStep") -> dict[str, object]:
    kind = "added" if step.before is None else "removed" if step.after is None else "changed"
    added, removed = edit.lines(step) or (None, None)
    return {"kind": kind, "path": edit.shown(step), "added": added, "removed": removed}
