"""How `earnest run` works a task: open the platform, watch the bus, stop at Ctrl+C, print the result."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from earnest.app.orders import Words
from earnest.app.platform import Platform, open_platform
from earnest.app.readers import order_of, outside_of
from earnest.app.settings import Settings, read_settings
from earnest.effects.ground.bus.api import Envelope
from earnest.engine.codec import encode
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.messages import FinalResult, PlanReady, Remarked, StopRequested
from earnest.foundation.errors import Waits
from earnest.foundation.instants import duration_text
from earnest.foundation.text import head_tail, printable
from earnest.runtime.order import Grants, Order
from earnest.runtime.unknown_effects import EffectDecision
from earnest.surfaces.cli.asking import Away, Terminal, TypedLine, is_foreground, is_terminal
from earnest.surfaces.cli.endings import ExitCode, way_on
from earnest.surfaces.cli.lines import ending_lines, plan_lines, usage_text
from earnest.surfaces.cli.printing import NobodyListens, abandon_stdout, complain, say, say_json

EXIT_CODES: Final = {
    MacroState.ACCEPT: ExitCode.ACCEPT,
    MacroState.SUCCESS: ExitCode.UNMET,
    MacroState.ABANDON: ExitCode.ABANDON,
}

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOCAL: Final = "local"
OUTSIDE_SHOWN: Final = 20
"""Whoever sits before this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What the command line asked for."""

    task: Path | Words | None
    """A playbook's path, or words."""
    resume: str | None
    live: bool
    new: bool = False
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """What takes the place of a playbook's inputs."""
    grants: Grants = field(default_factory=Grants)
    plan_only: bool = False
    awaits_leave: bool = False
    """Without a terminal: let questions wait for somebody at the dashboard, instead of nobody."""
    effect: EffectDecision | None = None
    """What became of an effect that a crash left open."""
    verbose: bool = False
    """What models say is shown as it comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run that has ended. `heard` is all that was said in it, in order; `worked_ms` is how long this process took."""

    run_id: str
    workspace: Path
    result: FinalResult
    heard: Sequence[object]
    worked_ms: int = 0

    @property
    def plan(self) -> PlanReady | None:
        """The plan in force at the end; None if there never was one."""
        return next((said for said in reversed(self.heard) if isinstance(said, PlanReady)), None)

    @property
    def unheeded(self) -> tuple[str, ...]:
        """What the user said too late for any plan."""
        remarks = [said.text for said in self.heard if isinstance(said, Remarked)]
        return tuple(remarks[self.plan.remarks if self.plan else 0 :])


async def work(request: TaskRequest, tell: Callable[[EndedRun], None]) -> EndedRun:
    """Work it in a platform of its own, and tell the result. Bad input is found before anything is opened.

    Whatever goes wrong after that changes nothing about it. Raises `Waits` if the run, or its result, is to come.
    """
    settings, terminal = read_settings(), Terminal()
    order = _read_order(request, settings)
    person = terminal if request.live and is_terminal() else None
    asked = person or (Away() if request.awaits_leave else None)
    worked: EndedRun | None = None
    try:
        async with open_platform(settings, person=asked) as platform:
            worked = await _ended(platform, request, order, person)
            _tell(worked, tell)
            await platform.after_run()
    except (Waits, NobodyListens, BrokenPipeError):
        raise
    except Exception as error:
        if worked is None:
            raise
        complain([f"after the end of the run: {error}"])
    return worked


async def _ended(platform: Platform, request: TaskRequest, order: Order | None, person: Terminal | None) -> EndedRun:
    """The run, ended: now, or earlier when nobody was told."""
    run_id = await _run_id(platform, request, order)
    before = await ended_before(platform, run_id)
    if before is not None:
        if request.live:
            say(f"{run_id} has ended already, and this is how (--new starts anew)")
        return before
    if request.effect is not None:
        await platform.runs.decide(run_id, request.effect, by=LOCAL)
    terminal = person or Terminal()

    def work_once() -> Awaitable[EndedRun]:
        working = work_run(
            platform,
            run_id,
            terminal=terminal,
            live=request.live,
            plan_only=request.plan_only,
            verbose=request.verbose,
        )
        return _stoppable(platform, run_id, working)

    return await deciding(platform, run_id, person, work_once)


async def ended_before(platform: Platform, run_id: str) -> EndedRun | None:
    """A run that has ended when nobody was told."""
    untold = await platform.runs.untold(run_id)
    if untold is None:
        return None
    workspace = platform.runs.workspace_of(run_id)
    return EndedRun(run_id=run_id, workspace=workspace, result=untold.result, heard=untold.said)


async def deciding(
    platform: Platform, run_id: str, person: Terminal | None, work_once: Callable[[], Awaitable[EndedRun]]
) -> EndedRun:
    """Work a run to its end, asking `person` what became of effects that nobody can tell of; else it waits."""
    while True:
        try:
            return await work_once()
        except Waits as waits:
            effect = await platform.runs.open_effect(run_id) if waits.asks and person else None
            decision = await person.decides(effect) if effect and person else None
            if effect is None or decision is None:
                raise
            await platform.runs.decide(run_id, decision, by=LOCAL, key=effect.key)


def _tell(worked: EndedRun, tell: Callable[[EndedRun], None]) -> None:
    """Have it told. What cannot be told now can be told later; that the reader went away is for them to know."""
    try:
        tell(worked)
        sys.stdout.flush()
    except (NobodyListens, BrokenPipeError):
        raise
    except Exception as error:
        abandon_stdout()
        result = worked.result
        told = f"its end could not be told ({error}): {result.directive}, exit code {exit_code_of(result)}"
        raise Waits(worked.run_id, told) from error


async def work_run(
    platform: Platform,
    run_id: str,
    *,
    terminal: Terminal,
    live: bool = True,
    plan_only: bool = False,
    verbose: bool = False,
    typed: TypedLine | None = None,
) -> EndedRun:
    """Work a run to its end, shown as it goes; if it is `verbose`, with what models say and commands put out
    while they do, and with what somebody has `typed` meanwhile.

    With `plan_only` the first plan ends it, in the user's name: before any role sees the plan, so nothing is begun.
    """
    heard: list[object] = []
    begun_ms = platform.clock.now_ms()

    def hear(envelope: Envelope) -> None:
        if envelope.run_id == run_id:
            heard.append(envelope.payload)
            if plan_only and isinstance(envelope.payload, PlanReady):
                platform.engine.stop(run_id, AbandonCause.USER, "only the plan was asked for")

    end_tap = platform.bus.tap(f"surface of {run_id}", hear)
    hidden = (StopRequested, FinalResult) if plan_only else ()
    result: FinalResult | None = None
    try:
        async with contextlib.AsyncExitStack() as stack:
            if live:
                from earnest.surfaces.cli.live import watching  # noqa: PLC0415 - loads what draws on terminals

                view = watching(platform.bus, platform.clock, run_id, terminal, hidden=hidden, typed=typed)
                listener = await stack.enter_async_context(view)
                if verbose:
                    stack.enter_context(platform.runs.overheard(run_id, listener))
            result = await platform.runs.work(run_id)
    except Exception as error:
        if result is None:
            raise
        complain([f"the end of the live view failed: {error}"])
    finally:
        end_tap()
    return EndedRun(
        run_id=run_id,
        workspace=platform.runs.workspace_of(run_id),
        result=result,
        heard=heard,
        worked_ms=platform.clock.now_ms() - begun_ms,
    )


def exit_code_of(result: FinalResult) -> int:
    """The exit code that a result stands for."""
    return EXIT_CODES[result.directive]


def outside_lines(run_id: str) -> Iterator[str]:
    """What a run changed outside its workspace, a line each path, and how it is taken back; nothing if it did not."""
    from earnest.runtime.edits.outside import told_outside  # noqa: PLC0415

    parts, unkept = outside_of(read_settings(), run_id)
    told = [f"  {how:<8} {printable(str(path))}" for how, path in told_outside(parts)]
    if told:
        more = [f"  and {len(told) - OUTSIDE_SHOWN} more"] if len(told) > OUTSIDE_SHOWN else []
        yield from ("  outside the workspace:", *told[:OUTSIDE_SHOWN], *more)
        yield f"  `earnest undo {run_id}` takes it back"
    yield from (f"  not kept, too much lies there to be had back: {printable(path)}" for path in unkept)


def print_result(worked: EndedRun, *, as_json: bool, output: bool = False) -> None:
    """The result, for people or for machines; what was put out as well, if somebody asked in words."""
    result = worked.result
    if as_json:
        numbers = {"exit_code": exit_code_of(result), **encode(result)}
        say_json({"run": worked.run_id, "workspace": str(worked.workspace), **numbers})
        return
    if not result.round and result.directive is MacroState.ACCEPT:
        say("", *result.summary.splitlines())
        return
    rounds = "1 round" if result.round == 1 else f"{result.round} rounds"
    if output and result.output:
        say("", *head_tail(result.output).splitlines())
    say("", *ending_lines(result), *outside_lines(worked.run_id))
    took_ms = max(result.elapsed_ms, worked.worked_ms)  # the solver's time begins with the task's spec
    say(
        f"  took   {rounds}, {duration_text(took_ms)}, {usage_text(result.usage)}",
        f"  run    {worked.run_id}",
        f"  files  {worked.workspace}",
    )


def print_waiting(waits: Waits) -> None:
    """A run without an end, for machines."""
    with contextlib.suppress(OSError, NobodyListens):
        line = {"exit_code": ExitCode.WAITS, "waits": waits.why, "asks": waits.asks, "resume": way_on(waits)}
        say_json({"run": waits.run_id, **line})


def print_plan(worked: EndedRun, plan: PlanReady, *, as_json: bool) -> None:
    """The plan, of which nothing was done."""
    if as_json:
        say_json({"run": worked.run_id, "plan": encode(plan), "usage": encode(worked.result)["usage"]})
        return
    say("", *(text for text, _ in plan_lines(plan)))
    say("", f"nothing was done; planning took {usage_text(worked.result.usage)}")


def _read_order(request: TaskRequest, settings: Settings) -> Order | None:
    match request.task:
        case None:
            return None
        case Path() as playbook:
            return order_of(playbook, request.grants, settings, request.inputs)
        case words:
            return words.order(settings.models, request.grants)


async def _run_id(platform: Platform, request: TaskRequest, order: Order | None) -> str:
    if order is None:
        assert request.resume is not None
        return request.resume
    interrupted = None if request.new or request.plan_only else await platform.runs.interrupted(order)
    if interrupted is not None and request.live and await platform.runs.untold(interrupted) is None:
        say(f"going on with {interrupted}, which was interrupted (--new starts anew)")
    return interrupted or await platform.runs.begin(order)


async def _stoppable(platform: Platform, run_id: str, working: Coroutine[None, None, EndedRun]) -> EndedRun:
    """Await it. A person's Ctrl+C ends the run, any other signal leaves it. A second one ends us at once.

    Raises `Waits` for a run that was left.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(working)
    left_by: list[str] = []

    def stop(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        if number is signal.SIGINT and is_foreground():
            if not platform.runs.stop(run_id, "stopped by Ctrl+C"):
                signal.raise_signal(number)
            return
        signal.signal(number, signal.SIG_DFL)
        left_by.append(number.name)
        task.cancel()

    heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    for number in heeded:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not left_by:
            raise
        raise Waits(run_id, f"stopped by {left_by[0]}") from None
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
