"""How `earnest run` works a task: open the platform, watch the bus, stop at Ctrl+C, print the result."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from earnest.app.model_settings import ModelSettings
from earnest.app.platform import Platform, open_platform
from earnest.app.readers import order_of
from earnest.app.settings import Settings, read_settings
from earnest.effects.bus.api import Envelope
from earnest.engine.codec import encode
from earnest.engine.gradient.cascade import Cause, State
from earnest.engine.messages import Budget, FinalResult, PlanReady, StopRequested
from earnest.foundation.instants import duration_text
from earnest.foundation.text import head_tail
from earnest.runtime.order import Grants, Order, RequestOrder, request_order
from earnest.runtime.programs import PROGRAM_REPLANS, ProgramOrder, command_of
from earnest.surfaces.cli.asking import Terminal, is_terminal
from earnest.surfaces.cli.endings import ExitCode
from earnest.surfaces.cli.lines import ending_lines, plan_lines, usage_text
from earnest.surfaces.cli.printing import say, say_json

EXIT_CODES: Final = {State.ACCEPT: ExitCode.ACCEPT, State.SUCCESS: ExitCode.UNMET, State.ABANDON: ExitCode.ABANDON}

TIME_S: Final = 1_800
"""For a task in words: a model on one's own machine is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the command line says a task in words may take; None leaves all but the time to the settings."""

    tokens: int | None = None
    model_calls: int | None = None
    cost_micro: int | None = None
    time_s: int | None = None

    def over(self, models: ModelSettings) -> Budget:
        """These bounds, and those of the settings where there is none."""
        return Budget(
            time_ms=(TIME_S if self.time_s is None else self.time_s) * 1000,
            tokens=models.max_tokens if self.tokens is None else self.tokens,
            model_calls=models.max_calls if self.model_calls is None else self.model_calls,
            cost_micro=models.max_cost_micro if self.cost_micro is None else self.cost_micro,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asked for."""

    task: Path | str | None
    """A playbook's path, or words."""
    resume: str | None
    new: bool
    live: bool
    grants: Grants
    bounds: Bounds
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """What words may be about, by its name in the workspace."""
    edits: Mapping[str, Path] = field(default_factory=dict)
    """What of the user's a copy may be changed of, likewise."""
    executor: str | None = None
    """The program that does the work, or a preset's name; None: a model."""
    executor_sandbox: bool = False
    spec: Path | None = None
    """What is judged by; None: what a model plans."""
    plan_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A run that has ended. `heard` is all that was said in it, in order."""

    run_id: str
    workspace: Path
    result: FinalResult
    heard: Sequence[object]

    @property
    def plan(self) -> PlanReady | None:
        """The plan in force at the end; None if there never was one."""
        return next((said for said in reversed(self.heard) if isinstance(said, PlanReady)), None)


async def work(request: Request) -> Worked:
    """Work it in a platform of its own. Bad input is found before anything is opened."""
    settings, terminal = read_settings(), Terminal()
    order = _read_order(request, settings)
    person = terminal if request.live and is_terminal() else None
    async with open_platform(settings, person=person) as platform:
        run_id = await _run_id(platform, request, order)
        with _stopping(platform, run_id):
            worked = await work_run(platform, run_id, terminal=terminal, live=request.live, plan_only=request.plan_only)
        await platform.memory.flush()
        await platform.dreaming.expire()
        return worked


async def work_run(
    platform: Platform, run_id: str, *, terminal: Terminal, live: bool = True, plan_only: bool = False
) -> Worked:
    """Work a run to its end, shown as it goes.

    With `plan_only` the first plan ends it, in the user's name: before any role sees the plan, so nothing is begun.
    """
    heard: list[object] = []

    def hear(envelope: Envelope) -> None:
        if envelope.run_id == run_id:
            heard.append(envelope.payload)
            if plan_only and isinstance(envelope.payload, PlanReady):
                platform.engine.stop(run_id, Cause.USER, "only the plan was asked for")

    end_tap = platform.bus.tap(f"surface of {run_id}", hear)
    hidden = (StopRequested, FinalResult) if plan_only else ()
    try:
        async with contextlib.AsyncExitStack() as stack:
            if live:
                from earnest.surfaces.cli.live import watching  # noqa: PLC0415 - loads what draws on terminals

                await stack.enter_async_context(watching(platform.bus, platform.clock, run_id, terminal, hidden=hidden))
            result = await platform.runs.work(run_id)
    finally:
        end_tap()
    return Worked(run_id=run_id, workspace=platform.runs.workspace_of(run_id), result=result, heard=heard)


def exit_code_of(result: FinalResult) -> int:
    """The exit code that a result stands for."""
    return EXIT_CODES[result.directive]


def print_result(worked: Worked, *, as_json: bool, output: bool = False) -> None:
    """The result, for people or for machines; what was put out as well, if somebody asked in words."""
    result = worked.result
    if as_json:
        numbers = {"exit_code": exit_code_of(result), **encode(result)}
        say_json({"run": worked.run_id, "workspace": str(worked.workspace), **numbers})
        return
    if not result.round and result.directive is State.ACCEPT:
        say("", *result.summary.splitlines())
        return
    rounds = "1 round" if result.round == 1 else f"{result.round} rounds"
    if output and result.output:
        say("", *head_tail(result.output).splitlines())
    say("", *ending_lines(result))
    say(
        f"  took   {rounds}, {duration_text(result.elapsed_ms)}, {usage_text(result.usage)}",
        f"  run    {worked.run_id}",
        f"  files  {worked.workspace}",
    )


def print_plan(worked: Worked, plan: PlanReady, *, as_json: bool) -> None:
    """The plan, of which nothing was done."""
    if as_json:
        say_json({"run": worked.run_id, "plan": encode(plan), "usage": encode(worked.result)["usage"]})
        return
    say("", *(text for text, _ in plan_lines(plan)))
    say("", f"nothing was done; planning took {usage_text(worked.result.usage)}")


def _read_order(request: Request, settings: Settings) -> Order | None:
    match request.task:
        case None:
            return None
        case Path() as playbook:
            return order_of(playbook, request.grants, settings)
        case words:
            order = request_order(words, request.bounds.over(settings.models), Path.cwd(), request.grants)
            order = replace(order, inputs=request.inputs, edits=request.edits)
            return _with_program(order, request) if request.executor is not None else order


def _with_program(order: RequestOrder, request: Request) -> RequestOrder:
    assert request.executor is not None
    program = ProgramOrder(command=command_of(request.executor), sandbox=request.executor_sandbox)
    if request.spec is None:
        return replace(order, program=program)
    from earnest.app.judging import spec_of  # noqa: PLC0415 - only runs of programs need it

    spec, folder = spec_of(request.spec)
    return replace(order, program=program, spec=spec, folder=folder, replans=PROGRAM_REPLANS)


async def _run_id(platform: Platform, request: Request, order: Order | None) -> str:
    if order is None:
        assert request.resume is not None
        return request.resume
    interrupted = None if request.new or request.plan_only else await platform.runs.interrupted(order)
    if interrupted is not None and request.live:
        say(f"going on with {interrupted}, which was interrupted (--new starts anew)")
    return interrupted or await platform.runs.begin(order)


@contextlib.contextmanager
def _stopping(platform: Platform, run_id: str) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into an honest end of the run. A second one, or one too early for that, does as usual."""
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        if not platform.runs.stop(run_id, f"stopped by {number.name}"):
            signal.raise_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
