"""A conversation's answer to each line that is typed: requests are worked as runs, commands begin with a `/`.

Nothing heavy is imported before the first line was typed.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

from earnest.foundation.errors import EarnestError, Refused, Waits
from earnest.surfaces.cli.asking import COMMAND, LATER
from earnest.surfaces.cli.here import read_books
from earnest.surfaces.cli.printing import NobodyListens, complain, say, short

if TYPE_CHECKING:
    from concurrent.futures import Future

    from earnest.app.platform import Platform
    from earnest.app.settings import Settings
    from earnest.engine.messages import Usage
    from earnest.memory.megram import Megram
    from earnest.runtime.edits.change import RunChange
    from earnest.runtime.order import Order
    from earnest.surfaces.cli.asking import Terminal
    from earnest.surfaces.cli.task import EndedRun

TURNS_MAX: Final = 5
RUNS_SHOWN: Final = 10
ENTRIES_SHOWN: Final = 20
ENTRY_CHARACTERS: Final = 200
NONE: Final = "none"
"""Said instead of a path: nothing is named any more."""


class Command(NamedTuple):
    """What a line that begins with `/NAME` does with the rest of it."""

    usage: str
    what: str
    answer: "Answer"

    @property
    def wants(self) -> bool:
        """True if there must be a rest."""
        return " " in self.usage and "[" not in self.usage


Answer: TypeAlias = Callable[["Conversation", str], Awaitable[None]]
COMMANDS: Final[dict[str, Command]] = {}
"""By name, in the order in which /help lists them."""


def _command(usage: str, what: str) -> Callable[[Answer], Answer]:
    """Have a method answer the lines that begin as `usage` does."""

    def known(answer: Answer) -> Answer:
        COMMANDS[usage.partition(" ")[0].removeprefix("/")] = Command(usage, what, answer)
        return answer

    return known


class Conversation:
    """Answers one line after the other. The data directory is taken when something is first worked, and then kept."""

    def __init__(self, read_settings: "Callable[[], Settings]", terminal: "Terminal") -> None:
        self._read_settings = read_settings
        self._terminal = terminal
        self._open = contextlib.AsyncExitStack()
        self._platform: Platform | None = None
        self._busy: asyncio.Task[bool] | None = None
        self._run_id = ""
        self.left = ""
        """The run that was being worked when the conversation was ended."""
        self._inputs: dict[str, Path] = {}
        self._edits: dict[str, Path] = {}
        """What `/input` and `/edit` name stands for every request after it."""
        self._newest = ""
        """The run that was worked last."""
        self._turns: list[str] = []
        self._usages: list[Usage] = []
        self._unheeded: tuple[str, ...] = ()
        self._is_asked_to_end = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def answer(self, text: str, loaded: "Future[Settings] | None" = None) -> bool:
        """Answer one line, once `loaded` is done; False if it was the last.

        Whatever goes wrong is told, and the conversation goes on.
        """
        self._busy = asyncio.get_running_loop().create_task(self._answer(text.strip(), loaded))
        try:
            return await self._busy
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            say("stopped")
        except (NobodyListens, BrokenPipeError):
            return False
        except Waits as waits:
            complain([*str(waits).splitlines(), f"to go on: /resume {waits.run_id}"])
        except EarnestError as error:
            complain(str(error).splitlines())
        except Exception as error:
            complain([*f"{type(error).__name__}: {error}".splitlines(), "this is a fault of earnest"])
        finally:
            self._busy, self._is_asked_to_end = None, False
        self.left = ""
        return True

    def interrupt(self) -> bool:
        """Ctrl+C: end the run that is being worked, with all its processes, or else whatever else is being done.

        False the second time: then whoever talks wants to leave.
        """
        if self._is_asked_to_end:
            return False
        self._is_asked_to_end = self._busy is not None
        if self._run_id and self._platform and self._platform.runs.stop(self._run_id, "stopped by Ctrl+C"):
            return True
        if self._busy is not None:
            self._busy.cancel()
        return True

    @cached_property
    def _settings(self) -> "Settings":
        return self._read_settings()

    async def _answer(self, text: str, loaded: "Future[Settings] | None") -> bool:
        if loaded is not None:
            await asyncio.to_thread(wait, (loaded,))  # what it raises is told by the command that asks for it
        found = COMMAND.fullmatch(text)
        if found is None:
            while text:
                await self._request(text)
                if text := "\n".join(self._unheeded):
                    said = (f"  {line}" for line in self._unheeded)
                    say("", "the run had ended before it could heed what you said, so this comes next:", *said)
            return True
        name = found["name"].lower()
        if name == "quit":
            return False
        command = COMMANDS.get(name)
        if command is None:
            complain([f"there is no command /{name}; see /help"])
            return True
        rest = (found["rest"] or "").strip()
        if command.wants and not rest:
            complain([f"{command.usage}  {command.what}"])
        else:
            await command.answer(self, rest)
        return True

    async def _request(self, words: str) -> None:
        from earnest.app.orders import Words  # noqa: PLC0415
        from earnest.runtime.order import Grants  # noqa: PLC0415

        asked = Words(text=words, inputs=self._inputs.copy(), edits=self._edits.copy())
        order = asked.order(self._settings.models, Grants(), *self._turns)
        self._unheeded = ()
        await self._work(replace(order, after=self._newest), words)

    async def _work(self, order: "Order", words: str, *, has_words: bool = True) -> None:
        platform = await self._opened()
        await self._work_run(platform, await platform.runs.begin(order), words, has_words=has_words)

    async def _work_run(self, platform: "Platform", run_id: str, words: str, *, has_words: bool = True) -> None:
        """Work it. What came of it is a turn that later requests may speak of."""
        from earnest.engine.gradient.cascade import AbandonCause  # noqa: PLC0415
        from earnest.runtime.telling import note_told  # noqa: PLC0415
        from earnest.surfaces.cli.asking import TypedLine  # noqa: PLC0415
        from earnest.surfaces.cli.task import deciding, ended_before, print_result, work_run  # noqa: PLC0415

        def heard(line: str) -> None:
            if COMMAND.fullmatch(line) is None:
                platform.runs.remark(run_id, line)
            else:
                with self._terminal.still():
                    complain([LATER])

        def work_once() -> "Awaitable[EndedRun]":
            return work_run(platform, run_id, terminal=self._terminal, verbose=True, typed=TypedLine(heard))

        self._run_id = self.left = run_id
        try:
            before = await ended_before(platform, run_id)
            worked = before or await deciding(platform, run_id, self._terminal, work_once)
        finally:
            self._run_id = ""
        self.left = ""
        result = worked.result
        self._usages.append(result.usage)
        self._turns = [*self._turns, f"user: {words}\nearnest: {result.summary}\n{result.output}"][-TURNS_MAX:]
        print_result(worked, as_json=False, output=has_words)
        self._newest = run_id
        self._tell_change()
        note_told(worked.workspace.parent)
        await platform.after_run()
        self._unheeded = () if result.cause is AbandonCause.USER else worked.unheeded

    @_command("/audit [WINDOW]", "what the auditor saw, of late or in the last 30s, 10m, 2h, 1d")
    async def _audit(self, rest: str) -> None:
        from earnest.audit.report import report_lines  # noqa: PLC0415
        from earnest.surfaces.cli.auditing import report_on, window_ms_of  # noqa: PLC0415

        window_ms = window_ms_of(rest) if rest else None
        say(*report_lines(await asyncio.to_thread(report_on, self._settings, window_ms)))

    @_command("/memory [SPACE]", "what is remembered, such as of intent:TASK_CLASS")
    async def _memory(self, rest: str) -> None:
        entries = self._entries(rest or None)
        for megram in entries:
            content = short(megram.content, ENTRY_CHARACTERS)
            say(f"{megram.id}  {megram.level}  {megram.state}  {megram.space} · {megram.entity}", f"  {content}")
        if not entries:
            say(f"nothing is remembered under {rest}" if rest else "nothing is remembered yet")

    @_command("/remember TEXT", "have a rule remembered for good")
    async def _remember(self, rest: str) -> None:
        platform = await self._opened()
        say(f"remembered: {await platform.remembering.remember(rest)}")

    @_command("/forget ID", "forget an entry for good")
    async def _forget(self, rest: str) -> None:
        platform = await self._opened()
        await platform.remembering.forget(rest)
        say(f"forgotten: {rest}")

    @_command("/run PLAYBOOK", "work a playbook, which needs no model")
    async def _playbook(self, rest: str) -> None:
        order = _order_of(rest)
        await self._work(order, order.request.raw_input, has_words=False)

    @_command("/resume RUN", "go on with a run that waits")
    async def _resume(self, rest: str) -> None:
        await self._work_run(await self._opened(), rest, f"go on with {rest}")

    @_command("/input [PATH]", "show this to the requests that follow; none: nothing")
    async def _input(self, rest: str) -> None:
        self._name("/input", rest, self._inputs, self._edits)

    @_command("/edit [PATH]", "have a copy of this changed by the requests that follow")
    async def _edit(self, rest: str) -> None:
        self._name("/edit", rest, self._edits, self._inputs)

    @_command("/files", "what the newest run left")
    async def _files(self, _rest: str) -> None:
        from earnest.surfaces.cli.edits import made_lines  # noqa: PLC0415

        platform = await self._opened()
        if not self._newest:
            say("nothing was worked yet")
        else:
            say(*await asyncio.to_thread(made_lines, platform.runs.workspace_of(self._newest)))

    @_command("/diff [RUN]", "what a run changed in what it was given to edit")
    async def _diff(self, rest: str) -> None:
        from earnest.surfaces.cli.edits import diff_lines, stat_lines  # noqa: PLC0415

        change = self._change(rest)
        say(*(stat_lines(change) if change.is_empty else diff_lines(change)))

    @_command("/apply [RUN]", "put that in the place of the originals")
    async def _apply(self, rest: str) -> None:
        from earnest.surfaces.cli.edits import apply_told  # noqa: PLC0415

        platform = await self._opened()
        await apply_told(platform.edits, self._change(rest).run_id)

    @_command("/undo [RUN]", "bring back what an applied change replaced")
    async def _undo(self, rest: str) -> None:
        from earnest.app.readers import run_of  # noqa: PLC0415
        from earnest.surfaces.cli.edits import undo_told  # noqa: PLC0415

        platform = await self._opened()
        await undo_told(platform.edits, run_of(self._settings, rest or self._newest or None))

    @_command("/runs", "the newest runs")
    async def _runs(self, _rest: str) -> None:
        from earnest.surfaces.cli.runs import run_line  # noqa: PLC0415
        from earnest.views.runs import list_runs  # noqa: PLC0415

        try:
            say(*map(run_line, read_books(lambda reader: list_runs(reader, RUNS_SHOWN), self._settings)))
        except Refused as refusal:
            if refusal.code != "no_database":
                raise
            say("no runs yet")

    @_command("/cost", "what this conversation took of models")
    async def _cost(self, _rest: str) -> None:
        from earnest.engine.messages import Usage  # noqa: PLC0415
        from earnest.surfaces.cli.lines import usage_text  # noqa: PLC0415

        total = Usage(**{one.name: sum(getattr(u, one.name) for u in self._usages) for one in fields(Usage)})
        number = len(self._usages)
        say(f"{number} run{'s' * (number != 1)}: {usage_text(total)}")

    @_command("/help", "this")
    async def _help(self, _rest: str) -> None:
        say("Say what is to be done, in words. Or:", *(f"  {c.usage:<17}  {c.what}" for c in COMMANDS.values()))
        say("  Ctrl+C             end the run, or clear the line", "  Alt+Enter          break the line")

    @_command("/quit", "leave, as Ctrl+D does")
    async def _quit(self, _rest: str) -> None:
        """The conversation is over before this could be asked."""

    def _name(self, option: str, path: str, places: dict[str, Path], others: dict[str, Path]) -> None:
        """Name a place to be read or changed, or none any more; without a path, say which are. Raises `Faulty`."""
        from earnest.app.orders import named  # noqa: PLC0415

        if path == NONE:
            places.clear()
        elif path:
            places |= named([*places.values(), Path(path).expanduser()], option, taken=others)
        say(*(f"{option}  {place}" for place in places.values()) if places else [f"{option}  {NONE}"])

    def _change(self, run: str) -> "RunChange":
        """What a run, by default the newest, changed in what it was given to edit."""
        from earnest.app.readers import change_of  # noqa: PLC0415

        return change_of(self._settings, run or self._newest or None)

    def _tell_change(self) -> None:
        """What the newest run changed, if it was given something to edit, and how it is applied."""
        from earnest.app.readers import change_if_any  # noqa: PLC0415
        from earnest.surfaces.cli.edits import stat_lines  # noqa: PLC0415

        change = change_if_any(self._settings, self._newest)
        if change is None:
            return
        say("", *stat_lines(change))
        if change.is_accepted and not change.is_empty:
            say("your files are as they were: /diff shows this, /apply puts it in their place")

    def _entries(self, space: str | None) -> "tuple[Megram, ...]":
        """From the open platform, if there is one: a process opens its memory once."""
        from earnest.app.readers import reading_memory  # noqa: PLC0415

        if self._platform is not None:
            return self._platform.memory.entries(space, limit=ENTRIES_SHOWN)
        try:
            with reading_memory(self._settings) as memory:
                return memory.entries(space, limit=ENTRIES_SHOWN)
        except Refused as refusal:
            if refusal.code != "memory_missing":
                raise
            return ()

    async def _opened(self) -> "Platform":
        from earnest.app.platform import open_platform  # noqa: PLC0415

        if self._platform is None:
            opening = open_platform(
                self._settings, person=self._terminal, clarifier=self._terminal, promisee=self._terminal
            )
            self._platform = await self._open.enter_async_context(opening)
        return self._platform


def _order_of(playbook: str) -> "Order":
    from earnest.app.readers import order_of  # noqa: PLC0415
    from earnest.runtime.order import Grants  # noqa: PLC0415

    return order_of(Path(playbook).expanduser(), Grants())
