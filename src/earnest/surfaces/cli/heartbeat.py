"""`earnest heartbeat`: what an agent's HEARTBEAT.md promises, and whether it is still what was pinned."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from earnest.surfaces.cli import heartbeat_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from earnest.contracts.heartbeat.task import HeartbeatContract, HeartbeatTask

app = typer.Typer(help="HEARTBEAT.md: what an agent looks after.", no_args_is_help=True)
app.command("run")(heartbeat_run.run)
app.command("wake")(heartbeat_run.wake)

NAME = Path("HEARTBEAT.md")
File = Annotated[
    Path, typer.Argument(metavar="[FILE]", help="The file; HEARTBEAT.md of this folder.", show_default=False)
]
FileOption = Annotated[
    Path, typer.Option("--file", metavar="FILE", help="The file; HEARTBEAT.md of this folder.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("lint")
def lint(file: File = NAME, as_json: AsJson = False) -> None:
    """Name every doubtful line: no task, unknown field, taken id.

    Exit codes: 0 none, 1 some, 3 the file cannot be read.
    """
    raise typer.Exit(linted(file, as_json=as_json))


def linted(file: Path, *, as_json: bool) -> int:
    """Print what is not what it seems; gives the exit code."""
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    contract = _contract(file)
    if as_json:
        say_json({"digest": contract.digest, "tasks": len(contract.tasks), "diagnostics": _diagnostics(contract)})
    else:
        say(*(str(found) for found in contract.diagnostics), f"{_counted(contract)}, {contract.digest}")
    return 1 if contract.diagnostics else 0


def _counted(contract: "HeartbeatContract") -> str:
    match len(contract.tasks):
        case 0:
            return "no task (one is `- [ ] id | what to do | required` below `## Tasks`)"
        case 1:
            return "1 task"
        case several:
            return f"{several} tasks"


@app.command("show")
def show(file: File = NAME, as_json: AsJson = False) -> None:
    """Show the tasks, and what else the file says.

    Exit codes: 0 shown, 3 the file cannot be read.
    """
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415

    contract = _contract(file)
    if as_json:
        tasks = [_task(task) for task in contract.tasks]
        told = {"digest": contract.digest, "tasks": tasks, "context": contract.context}
        say_json({**told, "diagnostics": _diagnostics(contract)})
        return
    complain(str(found) for found in contract.diagnostics)
    for task in contract.tasks:
        say(f"[{'x' if task.is_ticked else ' '}] {task.id:<24} {_terms(task):<36} {task.description}")
    if contract.context:
        say("", *contract.context.splitlines())


@app.command("add")
def add(  # noqa: PLR0917 - options, named by whoever calls
    description: Annotated[str, typer.Argument(metavar="DESCRIPTION", help="What is to be done, in one line.")],
    task_id: Annotated[str, typer.Option("--id", metavar="ID", help="Its id; from the description by default.")] = "",
    is_optional: Annotated[bool, typer.Option("--optional", help="It may be left undone.")] = False,
    verify: Annotated[str, typer.Option(metavar="HINT", help="How it is verified: a probe or check, or words.")] = "",
    max_attempts: Annotated[int, typer.Option(min=1, max=20, help="After so many failures nobody asks again.")] = 3,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="How often it is due: 30m, 6h, 1d. Each time by default.")
    ] = "",
    file: FileOption = NAME,
    as_json: AsJson = False,
) -> None:
    """Add a task to `## Tasks`; a missing file is begun.

    Exit codes: 0 added, 3 it cannot be, or its id is taken.
    """
    from earnest.contracts.heartbeat.line import every_s, slug  # noqa: PLC0415
    from earnest.contracts.heartbeat.task import HeartbeatTask  # noqa: PLC0415
    from earnest.contracts.heartbeat.writing import NEW_FILE, added  # noqa: PLC0415

    if every and every_s(every) is None:
        raise typer.BadParameter(f"--every must be like 30m, 6h or 1d, up to 31d, not {every!r}")
    task = HeartbeatTask(
        id=task_id or slug(description),
        description=description.strip(),
        required=not is_optional,
        verify=verify.strip(),
        max_attempts=max_attempts,
        every_s=every_s(every),
    )
    contract = _rewritten(file, lambda text: added(text or NEW_FILE, task))
    _tell_task(contract, task.id, "added", as_json=as_json)


@app.command("done")
def done(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="The task's id.")],
    is_undone: Annotated[bool, typer.Option("--undo", help="Empty the box again.")] = False,
    file: FileOption = NAME,
    as_json: AsJson = False,
) -> None:
    """Tick a task's box: a claim that will be verified.

    Exit codes: 0 ticked, 3 there is no such task.
    """
    from earnest.contracts.heartbeat.writing import ticked  # noqa: PLC0415

    contract = _rewritten(file, lambda text: ticked(text, task_id, is_done=not is_undone))
    _tell_task(contract, task_id, "not done" if is_undone else "done", as_json=as_json)


@app.command("pin")
def pin(file: File = NAME, as_json: AsJson = False) -> None:
    """Accept the file as it is, for `earnest heartbeat diff`.

    Exit codes: 0 pinned, 3 the file cannot be read.
    """
    from earnest.app.heartbeating import pin_text  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.contracts.heartbeat.parse import parse_heartbeat  # noqa: PLC0415
    from earnest.surfaces.cli.printing import complain, say, say_json  # noqa: PLC0415

    text = _bytes(file)
    contract = parse_heartbeat(text, str(file))
    pin_text(read_settings().home, file, text)
    complain(str(found) for found in contract.diagnostics)
    if as_json:
        say_json({"digest": contract.digest, "tasks": len(contract.tasks)})
    else:
        say(f"pinned {len(contract.tasks)} tasks, {contract.digest}")


@app.command("diff")
def diff(file: File = NAME, as_json: AsJson = False) -> None:
    """Compare the tasks with the pinned ones.

    Exit codes: 0 nothing is weaker, 1 a required task is gone or weaker, 3 nothing is pinned, or the
    file cannot be read. A file that is gone promises nothing.
    """
    from earnest.app.heartbeating import pinned_text  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.contracts.heartbeat.diff import compare  # noqa: PLC0415
    from earnest.contracts.heartbeat.parse import parse_heartbeat  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    pinned = parse_heartbeat(pinned_text(read_settings().home, file), f"the pin of {file}")
    now = _contract(file) if file.exists() else parse_heartbeat("", str(file))
    found = compare(pinned.tasks, now.tasks)
    if as_json:
        rows = [
            {
                "change": one.change.value,
                "id": one.id,
                "is_weakening": one.is_weakening,
                "reasons": list(one.reasons),
                "was": None if one.was is None else _task(one.was),
                "now": None if one.now is None else _task(one.now),
            }
            for one in found
        ]
        say_json({"pinned": pinned.digest, "digest": now.digest, "differences": rows})
    else:
        for one in found:
            say(
                f"{'weaker' if one.is_weakening else '':<7} {one.change:<9} {one.id}",
                *(f"{'':<18}{reason}" for reason in one.reasons),
            )
        say(*([] if found else ["as it was pinned"]))
    raise typer.Exit(1 if any(one.is_weakening for one in found) else 0)


def _bytes(file: Path) -> bytes:
    from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX  # noqa: PLC0415
    from earnest.effects.ground.text_file import read_text_file  # noqa: PLC0415

    return read_text_file(file, TEXT_BYTES_MAX)


def _contract(file: Path) -> "HeartbeatContract":
    from earnest.contracts.heartbeat.parse import parse_heartbeat  # noqa: PLC0415

    return parse_heartbeat(_bytes(file), str(file))


def _rewritten(file: Path, change: "Callable[[str], str]") -> "HeartbeatContract":
    """The contract after the file was changed."""
    from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX, decoded  # noqa: PLC0415
    from earnest.effects.ground.text_file import rewrite_text_file  # noqa: PLC0415

    def changed(data: bytes) -> bytes:
        return change(decoded(data, str(file))).encode()

    rewrite_text_file(file, TEXT_BYTES_MAX, changed)
    return _contract(file)


def _tell_task(contract: "HeartbeatContract", task_id: str, what: str, *, as_json: bool) -> None:
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    task = next(task for task in contract.tasks if task.id == task_id)
    if as_json:
        say_json({"digest": contract.digest, "task": _task(task)})
    else:
        say(f"{what}: {task.id} ({_terms(task)}), line {task.line}")


def _task(task: "HeartbeatTask") -> dict[str, Any]:
    from earnest.contracts.heartbeat.task import promise_of  # noqa: PLC0415

    return {**promise_of(task), "is_ticked": task.is_ticked, "line": task.line}


def _terms(task: "HeartbeatTask") -> str:
    """What a task's fields say, in one line."""
    from earnest.contracts.heartbeat.line import every_text  # noqa: PLC0415

    if not task.is_structured:
        return "a plain box"
    terms = ["required" if task.required else "optional", f"{task.max_attempts} attempts"]
    terms += [f"every {every_text(task.every_s)}"] if task.every_s else []
    return ", ".join([*terms, f"verify: {task.verify}" if task.verify else "no hint"])


def _diagnostics(contract: "HeartbeatContract") -> list[dict[str, Any]]:
    return [{"line": found.line, "column": found.column, "message": found.message} for found in contract.diagnostics]
