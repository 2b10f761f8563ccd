"""`earnest run`: work a playbook or a task in words, and watch it. `earnest resume`: go on with a run that waits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import TYPE_CHECKING

import click

from earnest.foundation.errors import Waits
from earnest.surfaces.cli.here import finish
from earnest.surfaces.cli.options import PATH, Whole
from earnest.surfaces.cli.printing import complain

if TYPE_CHECKING:
    from earnest.app.orders import Words
    from earnest.runtime.order import Grants
    from earnest.surfaces.cli.task import EndedRun, TaskRequest

COST_MAX_MICRO = 10**12
FOR_WORDS = ("--edit", "--never", "--executor", "--max-tokens", "--max-calls", "--max-cost", "--max-time")
PLAYBOOK_SUFFIXES = (".yaml", ".yml")


def _micro(text: str) -> int:
    """Millionths of an amount such as `0.50`."""
    try:
        amount = Decimal(text) * 10**6
    except DecimalException:
        amount = Decimal(-1)
    if not amount.is_finite() or not 0 <= amount <= COST_MAX_MICRO or amount != int(amount):
        raise click.BadParameter(f"{text!r} is no amount from 0 to {COST_MAX_MICRO // 10**6} with at most 6 decimals")
    return int(amount)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print the result only.")
await_leave_option = click.option(
    "--await-leave", is_flag=True, help="Without a terminal: wait for leave that is given at the dashboard."
)


@click.command()
@click.argument("task", required=False, help="A playbook (.yaml or .yml), or what is to be done, in words.")
@click.option("--resume", metavar="RUN", help="Go on with this interrupted run.")
@click.option("--new", is_flag=True, help="Start anew even if this task was interrupted.")
@json_option
@quiet_option
@click.option("--verbose", "-v", is_flag=True, help="Show what models say and commands put out while they do.")
@click.option(
    "--allow-write",
    multiple=True,
    type=PATH,
    metavar="PATH",
    help="Let steps that ask for it write below PATH, outside the workspace.",
)
@click.option("--allow-network", is_flag=True, help="Let steps that ask for it use the network.")
@click.option("--yes", multiple=True, metavar="ACTION", help="Say yes beforehand to exactly this action, once.")
@await_leave_option
@click.option(
    "--input",
    "shown",
    multiple=True,
    metavar="PATH",
    help="Show this file or folder, read-only; of a playbook: NAME=PATH, in its place.",
)
@click.option(
    "--edit", multiple=True, type=PATH, metavar="PATH", help="Let a task in words change a copy of this file or folder."
)
@click.option(
    "--never", multiple=True, metavar="WHAT", help="What must not be touched (a path or glob) or done (in words)."
)
@click.option("--apply", is_flag=True, help="Put an accepted change in the place of what --edit named, unasked.")
@click.option(
    "--executor", metavar="CMD", help="Have this program do the work: claude, codex, aider or any command line."
)
@click.option("--executor-sandbox", is_flag=True, help="Run the program in the sandbox.")
@click.option("--spec", type=PATH, metavar="SPEC", help="Judge by this specification, so that no model is needed.")
@click.option("--plan-only", is_flag=True, help="Make a plan, print it, do nothing of it.")
@click.option("--save", type=PATH, metavar="PLAYBOOK", help="Save the accepted run as a playbook that needs no model.")
@click.option("--output", type=PATH, metavar="DIR", help="Copy what was delivered there; made, or empty until now.")
@click.option("--watch", is_flag=True, help="Work the playbook anew whenever it or an input changes.")
@click.option("--max-tokens", "tokens", type=Whole(0), help="Tokens that models may take.")
@click.option("--max-calls", "model_calls", type=Whole(0), help="Calls of models.")
@click.option("--max-cost", "cost_micro", type=_micro, metavar="AMOUNT", help="Cost, as 0.50.")
@click.option("--max-time", "time_s", type=Whole(1, 86_400), metavar="SECONDS", help="Time.")
def run(
    *,
    task: str | None,
    resume: str | None,
    new: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    allow_write: tuple[Path, ...],
    allow_network: bool,
    yes: tuple[str, ...],
    await_leave: bool,
    shown: tuple[str, ...],
    edit: tuple[Path, ...],
    never: tuple[str, ...],
    apply: bool,
    executor: str | None,
    executor_sandbox: bool,
    spec: Path | None,
    plan_only: bool,
    save: Path | None,
    output: Path | None,
    watch: bool,
    **bounds: int | None,
) -> None:
    """Work a playbook, or a task in words, under contract.

    Exit codes: 0 accepted, 2 delivered with unmet criteria, 1 abandoned, 3 bad input or usage, 4 it waits and can be
    resumed. Ctrl+C ends the run and keeps what was done; any other signal leaves it. An interrupted run of the same
    task is continued, and the end of one that nobody was told of is told, unless --new is given. Inputs and bounds are
    for tasks in words: a playbook asks no model and states its own.
    """
    from earnest.app.orders import Bounds, Words  # noqa: PLC0415

    if (task is None) == (resume is None):
        raise click.BadParameter("give either a TASK or --resume RUN")
    words = Words(
        text=task or "", executor=executor, executor_sandbox=executor_sandbox, bounds=Bounds(**bounds), never=never
    )
    asked, inputs = _task(task, words, shown, edit, spec), _inputs_given(task, shown)
    _check(asked, save, output, watch=watch, plan_only=plan_only)
    _open(asked or str(resume), inputs, spec, live=(live := not (as_json or quiet)))
    from earnest.surfaces.cli.task import TaskRequest  # noqa: PLC0415 - loads all that runs need

    request = TaskRequest(
        task=_judged_by(asked, spec),
        inputs=inputs,
        resume=resume,
        new=new,
        live=live,
        grants=_grants(allow_write, yes, network=allow_network),
        plan_only=plan_only,
        awaits_leave=await_leave,
        verbose=verbose,
    )
    if watch:
        _watch(request, as_json=as_json, output=output)
    work(request, save, as_json=as_json, apply=apply, output=output)


@click.command()
@click.argument("run", help="The run's id, as it was told.")
@click.option("--effect", metavar="WHAT", help="What became of the unknown effect: happened, absent or give-up.")
@await_leave_option
@json_option
@quiet_option
def resume(*, run: str, effect: str | None, await_leave: bool, as_json: bool, quiet: bool) -> None:
    """Continue a waiting run, or tell an untold end.

    Exit codes: as for `earnest run`. Where a crash left open whether an effect happened and no `look` can tell, a
    terminal asks; without one the run waits for --effect.
    """
    from earnest.surfaces.cli.opening import open_with  # noqa: PLC0415

    if effect is None and not (as_json or quiet):
        open_with(run, {})

    from earnest.runtime.unknown_effects import EffectDecision  # noqa: PLC0415
    from earnest.surfaces.cli.task import TaskRequest  # noqa: PLC0415

    decisions = [decision.value for decision in EffectDecision]
    if effect is not None and effect not in decisions:
        raise click.BadParameter(f"--effect is one of {', '.join(decisions)}, not {effect!r}")
    request = TaskRequest(
        task=None,
        resume=run,
        live=not (as_json or quiet),
        awaits_leave=await_leave,
        effect=None if effect is None else EffectDecision(effect),
    )
    work(request, None, as_json=as_json)


def _task(
    task: str | None, words: "Words", shown: Sequence[str], edit: Sequence[Path], spec: Path | None
) -> "Path | Words | None":
    """A playbook, or the words with what they name; None: a run is resumed."""
    if words.executor is None and (spec or words.executor_sandbox):
        raise click.BadParameter("--spec and --executor-sandbox go with --executor")
    if task is not None and not _is_playbook(task):
        from earnest.app.orders import named  # noqa: PLC0415

        inputs = named([Path(path) for path in shown], "--input")
        return replace(words, inputs=inputs, edits=named(edit, "--edit", taken=inputs))
    if words != type(words)(text=words.text) or edit:
        raise click.BadParameter(f"{', '.join(FOR_WORDS)} are for a task in words")
    return Path(task) if task else None


def _inputs_given(task: str | None, shown: Sequence[str]) -> dict[str, Path]:
    """What `--input NAME=PATH` says of a playbook."""
    if not shown or (task is not None and not _is_playbook(task)):
        return {}
    given = {name: Path(path) for name, _, path in (one.partition("=") for one in shown)}
    if task is None or not all(name and str(path) != "." for name, path in given.items()):
        raise click.BadParameter("of a playbook an input is given as NAME=PATH; a resumed run has its own")
    return given


def work(
    request: "TaskRequest",
    save: Path | None,
    *,
    as_json: bool,
    apply: bool = False,
    output: Path | None = None,
) -> None:
    """Work it, print what came of it, save and copy it if that is wanted, and end with its exit code."""
    import shutil  # noqa: PLC0415

    from earnest.app.orders import Words  # noqa: PLC0415
    from earnest.runtime.telling import note_told  # noqa: PLC0415
    from earnest.surfaces.cli import task  # noqa: PLC0415

    def tell(worked: "EndedRun") -> None:
        if request.plan_only and worked.plan is not None:
            task.print_plan(worked, worked.plan, as_json=as_json)
        else:
            task.print_result(worked, as_json=as_json, output=isinstance(request.task, Words))

    try:
        worked = finish(task.work(request, tell))
    except Waits as waits:
        if as_json:
            task.print_waiting(waits)
        raise
    code = 0 if request.plan_only and worked.plan is not None else task.exit_code_of(worked.result)
    if save is not None and code:
        complain(["the run is not saved: only one that was accepted can be repeated"])
    elif save is not None:
        from earnest.surfaces.cli.saving import save_run  # noqa: PLC0415

        assert isinstance(request.task, Words)
        complain(save_run(worked, request.task, save))
    if output is not None and worked.result.directive != "abandon":
        shutil.copytree(worked.workspace, output, symlinks=True, dirs_exist_ok=True)
    try:
        if not code and not as_json and not request.plan_only:
            from earnest.surfaces.cli.edits import offer  # noqa: PLC0415

            offer(worked.run_id, unasked=apply)
    finally:
        note_told(worked.workspace.parent)  # the last thing of all: killed before, we would tell it again
    raise click.exceptions.Exit(code)


def _check(
    asked: "Path | Words | None", save: Path | None, output: Path | None, *, watch: bool, plan_only: bool
) -> None:
    if plan_only and (asked is None or save):
        raise click.BadParameter("--plan-only does nothing that could be resumed or saved")
    if watch and not isinstance(asked, Path):
        raise click.BadParameter("--watch is for a playbook")
    if save is not None:
        _check_target(save, asked)
    if output is not None:
        _check_output(output, anew=watch)


def _check_target(playbook: Path, task: "Path | Words | None") -> None:
    if isinstance(task, Path):
        raise click.BadParameter("--save is for a task in words: a playbook is one already")
    if playbook.suffix not in PLAYBOOK_SUFFIXES:
        raise click.BadParameter(f"a playbook's name ends in .yaml or .yml, {playbook} does not")
    if playbook.exists() or not playbook.parent.is_dir():
        raise click.BadParameter(f"{playbook} {'is there already' if playbook.exists() else 'has no folder to be in'}")


def _check_output(folder: Path, *, anew: bool) -> None:
    """What lies there would be mixed up with what is delivered; a playbook that is watched writes over its own."""
    if folder.exists() and not (folder.is_dir() and (anew or not any(folder.iterdir()))):
        raise click.BadParameter(f"--output {folder} is there already: name a folder that is not, or an empty one")


def _grants(write: Sequence[Path], approved: Sequence[str], *, network: bool) -> "Grants":
    from earnest.runtime.order import Grants  # noqa: PLC0415

    return Grants(write=tuple(path.absolute() for path in write), network=network, approved=tuple(approved))


def _watch(request: "TaskRequest", *, as_json: bool, output: Path | None) -> None:
    from earnest.surfaces.cli.repeating import repeat  # noqa: PLC0415

    assert isinstance(request.task, Path)
    repeat(request.task, lambda: work(request, None, as_json=as_json, output=output))


def _open(asked: "Path | Words | str", inputs: Mapping[str, Path], spec: Path | None, *, live: bool) -> None:
    from earnest.surfaces.cli.opening import open_with  # noqa: PLC0415

    if live:
        open_with(asked, inputs, spec)


def _judged_by(asked: "Path | Words | None", spec: Path | None) -> "Path | Words | None":
    """What was asked for, with the specification that was read."""
    from earnest.app.orders import Words  # noqa: PLC0415

    if spec is None or not isinstance(asked, Words):
        return asked
    from earnest.app.judging import equipment_beside, spec_of  # noqa: PLC0415
    from earnest.app.judging_settings import read_judging_settings  # noqa: PLC0415

    found = spec_of(spec)
    return replace(asked, spec=found, equipment=equipment_beside(*found, read_judging_settings()))


def _is_playbook(text: str) -> bool:
    """Whether it is a path: it ends in .yaml or .yml, or holds a slash or a dot, and no blank."""
    return text.endswith(PLAYBOOK_SUFFIXES) or (bool({"/", "."} & {*text}) and not any(map(str.isspace, text)))
