"""`earnest heartbeat`: what an agent's HEARTBEAT.md promises, whether it is what was pinned; any program keeps it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from earnest.surfaces.cli.here import finish, settings_of
from earnest.surfaces.cli.in_the_name_of import credentials_of
from earnest.surfaces.cli.options import PATH, Group, Whole, as_option, one_json_option
from earnest.surfaces.cli.printing import complain, present, say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from earnest.contracts.heartbeat.task import HeartbeatContract, HeartbeatTask


@click.group(cls=Group)
def heartbeat() -> None:
    """HEARTBEAT.md: what an agent looks after."""


NAME = Path("HEARTBEAT.md")
file_argument = click.argument("file", type=PATH, default=NAME, help="The file; HEARTBEAT.md of this folder.")
file_option = click.option(
    "--file", type=PATH, metavar="FILE", default=NAME, help="The file; HEARTBEAT.md of this folder."
)


@heartbeat.command()
@click.option("--exec", "command", required=True, metavar="CMD", help="The program that does the work.")
@click.option(
    "--file",
    type=PATH,
    metavar="FILE",
    default=NAME,
    show_default=True,
    help="The contract; HEARTBEAT.md of this folder.",
)
@click.option(
    "--timeout",
    type=Whole(1, 86_400),
    metavar="SECONDS",
    default=600,
    show_default=True,
    help="How long a turn may take.",
)
@click.option("--active-hours", metavar="HH:MM-HH:MM", default="", help="When the program may run; always by default.")
@click.option(
    "--zone", metavar="ZONE", default="UTC", show_default=True, help="Whose clocks these hours are by (IANA)."
)
@click.option("--once", is_flag=True, help="One cycle, then end.")
@click.option("--dry-run", is_flag=True, help="One cycle, of which nothing is handed in: show what would be.")
@click.option("--pass-key", is_flag=True, help="Give the program EARNEST_URL and EARNEST_KEY.")
@as_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each cycle.")
def run(
    *,
    command: str,
    file: Path,
    timeout: int,
    active_hours: str,
    zone: str,
    once: bool,
    dry_run: bool,
    pass_key: bool,
    as_: str,
    as_json: bool,
) -> None:
    """Have a program do what is due, hand in its answers, and wait for the next time.

    Exit codes: 130 stopped. With --once: 0 handed in, or nothing was to do; 1 the program failed; 3 the platform
    did not answer. 3, too, for state that is damaged or in use by another runner.
    """
    from earnest.app.heartbeating import Running  # noqa: PLC0415
    from earnest.surfaces.cli.cycling import rehearse_heartbeat, run_heartbeat  # noqa: PLC0415

    running = Running(command=command, file=file, timeout_s=timeout, hours=active_hours, zone=zone, passes_key=pass_key)
    home, credentials = settings_of().home, credentials_of(as_)
    if dry_run:
        raise click.exceptions.Exit(finish(rehearse_heartbeat(home, credentials, running, as_json=as_json)))
    raise click.exceptions.Exit(finish(run_heartbeat(home, credentials, running, once=once, as_json=as_json)))


@heartbeat.command()
@as_option
def wake(*, as_: str) -> None:
    """Have the agent's runner on this machine look at once.

    Exit codes: 0 told, 3 none runs.
    """
    from earnest.app.heartbeating import wake as wake_one  # noqa: PLC0415

    say(f"woke {finish(wake_one(settings_of().home, credentials_of(as_)))}")


@heartbeat.command()
@file_argument
@one_json_option
def lint(*, file: Path, as_json: bool) -> None:
    """Name every doubtful line: no task, unknown field, taken id.

    Exit codes: 0 none, 1 some, 3 the file cannot be read.
    """
    raise click.exceptions.Exit(linted(file, as_json=as_json))


def linted(file: Path, *, as_json: bool) -> int:
    """Print what is not what it seems; gives the exit code."""
    contract = _contract(file)
    present(
        {"digest": contract.digest, "tasks": len(contract.tasks), "diagnostics": _diagnostics(contract)},
        *(str(found) for found in contract.diagnostics),
        f"{_counted(contract)}, {contract.digest}",
        as_json=as_json,
    )
    return 1 if contract.diagnostics else 0


def _counted(contract: "HeartbeatContract") -> str:
    match len(contract.tasks):
        case 0:
            return "no task (one is `- [ ] id | what to do | required` below `## Tasks`)"
        case 1:
            return "1 task"
        case several:
            return f"{several} tasks"


@heartbeat.command()
@file_argument
@one_json_option
def show(*, file: Path, as_json: bool) -> None:
    """Show the tasks, and what else the file says.

    Exit codes: 0 shown, 3 the file cannot be read.
    """
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


@heartbeat.command()
@click.argument("description", help="What is to be done, in one line.")
@click.option("--id", "task_id", metavar="ID", default="", help="Its id; from the description by default.")
@click.option("--optional", "is_optional", is_flag=True, help="It may be left undone.")
@click.option("--verify", metavar="HINT", default="", help="How it is verified: a probe or check, or words.")
@click.option(
    "--max-attempts", type=Whole(1, 20), default=3, show_default=True, help="After so many failures nobody asks again."
)
@click.option("--every", metavar="TIME", default="", help="How often it is due: 30m, 6h, 1d. Each time by default.")
@file_option
@one_json_option
def add(
    *,
    description: str,
    task_id: str,
    is_optional: bool,
    verify: str,
    max_attempts: int,
    every: str,
    file: Path,
    as_json: bool,
) -> None:
    """Add a task to `## Tasks`; a missing file is begun.

    Exit codes: 0 added, 3 it cannot be, or its id is taken.
    """
    from earnest.contracts.heartbeat.line import every_s, slug  # noqa: PLC0415
    from earnest.contracts.heartbeat.task import HeartbeatTask  # noqa: PLC0415
    from earnest.contracts.heartbeat.writing import NEW_FILE, added  # noqa: PLC0415

    if every and every_s(every) is None:
        raise click.BadParameter(f"--every must be like 30m, 6h or 1d, up to 31d, not {every!r}")
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


@heartbeat.command()
@click.argument("task_id", metavar="ID", help="The task's id.")
@click.option("--undo", "is_undone", is_flag=True, help="Empty the box again.")
@file_option
@one_json_option
def done(*, task_id: str, is_undone: bool, file: Path, as_json: bool) -> None:
    """Tick a task's box: a claim that will be verified.

    Exit codes: 0 ticked, 3 there is no such task.
    """
    from earnest.contracts.heartbeat.writing import ticked  # noqa: PLC0415

    contract = _rewritten(file, lambda text: ticked(text, task_id, is_done=not is_undone))
    _tell_task(contract, task_id, "not done" if is_undone else "done", as_json=as_json)


@heartbeat.command()
@file_argument
@one_json_option
def pin(*, file: Path, as_json: bool) -> None:
    """Accept the file as it is, for `earnest heartbeat diff`.

    Exit codes: 0 pinned, 3 the file cannot be read.
    """
    from earnest.app.heartbeating import pin_text  # noqa: PLC0415
    from earnest.contracts.heartbeat.parse import parse_heartbeat  # noqa: PLC0415

    text = _bytes(file)
    contract = parse_heartbeat(text, str(file))
    pin_text(settings_of().home, file, text)
    complain(str(found) for found in contract.diagnostics)
    present(
        {"digest": contract.digest, "tasks": len(contract.tasks)},
        f"pinned {len(contract.tasks)} tasks, {contract.digest}",
        as_json=as_json,
    )


@heartbeat.command()
@file_argument
@one_json_option
def diff(*, file: Path, as_json: bool) -> None:
    """Compare the tasks with the pinned ones.

    Exit codes: 0 nothing is weaker, 1 a required task is gone or weaker, 3 nothing is pinned, or the
    file cannot be read. A file that is gone promises nothing.
    """
    from earnest.app.heartbeating import pinned_text  # noqa: PLC0415
    from earnest.contracts.heartbeat.diff import compare  # noqa: PLC0415
    from earnest.contracts.heartbeat.parse import parse_heartbeat  # noqa: PLC0415

    pinned = parse_heartbeat(pinned_text(settings_of().home, file), f"the pin of {file}")
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
            say(f"{'weaker' if one.is_weakening else '':<7} {one.change:<9} {one.id}")
            say(*(f"{'':<18}{reason}" for reason in one.reasons))
        say(*([] if found else ["as it was pinned"]))
    raise click.exceptions.Exit(1 if any(one.is_weakening for one in found) else 0)


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
    task = next(task for task in contract.tasks if task.id == task_id)
    present(
        {"digest": contract.digest, "task": _task(task)},
        f"{what}: {task.id} ({_terms(task)}), line {task.line}",
        as_json=as_json,
    )


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
