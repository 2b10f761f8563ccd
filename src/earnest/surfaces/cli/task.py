"""How `earnest run` works a task: open the platform, watch the bus, stop at Ctrl+C, print the result."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.app.model_settings import ModelSettings
from earnest.app.platform import Platform, open_platform
from earnest.app.readers import order_of
from earnest.app.settings import read_settings
from earnest.engine.codec import encode
from earnest.engine.gradient.cascade import Cause, State
from earnest.engine.messages import Budget, FinalResult
from earnest.foundation.instants import duration_text
from earnest.runtime.order import Grants, Order, request_order
from earnest.surfaces.cli.endings import ExitCode
from earnest.surfaces.cli.lines import ending_lines, usage_text
from earnest.surfaces.cli.live import watching
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


async def work(request: Request) -> tuple[str, Path, FinalResult]:
    """Work it; the run's id, its workspace and its result. Bad input is found before anything is opened."""
    settings = read_settings()
    order = _read_order(request, settings.models)
    async with open_platform(settings) as platform:
        run_id = await _run_id(platform, request, order)
        with _stopping(platform, run_id):
            async with contextlib.AsyncExitStack() as stack:
                if request.live:
                    await stack.enter_async_context(watching(platform.bus, platform.clock, run_id))
                result = await platform.runs.work(run_id)
        await platform.memory.flush()
        await platform.forgetting.expire()
        return run_id, platform.runs.workspace_of(run_id), result


def exit_code_of(result: FinalResult) -> int:
    """The exit code that a result stands for."""
    return EXIT_CODES[result.directive]


def print_result(run_id: str, workspace: Path, result: FinalResult, *, as_json: bool) -> None:
    """The result, for people or for machines."""
    if as_json:
        say_json({"run": run_id, "workspace": str(workspace), "exit_code": exit_code_of(result), **encode(result)})
        return
    rounds = "1 round" if result.round == 1 else f"{result.round} rounds"
    say("", *ending_lines(result))
    say(
        f"  took   {rounds}, {duration_text(result.elapsed_ms)}, {usage_text(result.usage)}",
        f"  run    {run_id}",
        f"  files  {workspace}",
    )


def _read_order(request: Request, models: ModelSettings) -> Order | None:
    match request.task:
        case None:
            return None
        case Path() as playbook:
            return order_of(playbook, request.grants)
        case words:
            return request_order(words, request.bounds.over(models), Path.cwd(), request.grants)


async def _run_id(platform: Platform, request: Request, order: Order | None) -> str:
    if order is None:
        assert request.resume is not None
        return request.resume
    interrupted = None if request.new else await platform.runs.interrupted(order)
    if interrupted is not None and request.live:
        say(f"going on with {interrupted}, which was interrupted (--new starts anew)")
    return interrupted or await platform.runs.begin(order)


@contextlib.contextmanager
def _stopping(platform: Platform, run_id: str) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into an honest end of the run; a second one has its usual effect."""
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        platform.engine.stop(run_id, Cause.USER, f"stopped by {number.name}")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
