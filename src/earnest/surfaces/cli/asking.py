"""What a person says in the middle of a run, at the terminal it was started from: answers, and lines typed unasked."""

import asyncio
import codecs
import contextlib
import os
import re
import sys
import termios
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from earnest.surfaces.cli.printing import complain, say

if TYPE_CHECKING:
    from earnest.engine.messages import ConfirmationAsked, PlanReady
    from earnest.runtime.unknown_effects import EffectDecision, UnknownEffect

LINE_BYTES_MAX: Final = 4_096
"""What a terminal hands over at once."""
COMMAND: Final = re.compile(r"/(?P<name>[A-Za-z]*)(?:\s+(?P<rest>.*))?", re.DOTALL)
"""What a conversation obeys. Not a path: `/etc/hosts` is a word of a request."""
LATER: Final = "a command waits until the run has ended; Ctrl+C ends it"
_ESCAPE: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?")
_LFLAG: Final = 3
"""The place of the local modes among what `tcgetattr` gives."""
YES: Final = frozenset({"y", "yes"})
SHOW: Final = frozenset({"s", "show"})


def is_terminal() -> bool:
    """True if somebody sits before both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_foreground() -> bool:
    """True if our terminal has us in its foreground: then it is a person whose Ctrl+C sends SIGINT.

    A program of a service manager has no terminal, one in the background does not get its keys.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


class Away:
    """Nobody at a terminal, but somebody who looks at the dashboard (`runtime.approvals.Person`)."""

    async def allows(self, asked: "ConfirmationAsked") -> bool:
        """See `Person`. It says that an answer is waited for, and never has one."""
        complain([f"waits ten minutes for leave, at the dashboard: {asked.wording}"])
        await asyncio.Event().wait()
        return False


class Terminal:
    """Asks for leave (`runtime.approvals.Person`), about the request (`engine.ports.Clarifier`) and about what is

    promised (`runtime.clarifications.Promisee`), one at a time.

    What was typed before a question was shown is no answer to it.
    """

    def __init__(self) -> None:
        self.still: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
        """Keeps the screen from moving while somebody types; set by whatever moves it."""
        self.promised: Callable[[PlanReady], Iterable[tuple[str, str]]] = lambda _: ()
        """What a plan promises, in lines with their style; set by whatever tells of the run."""
        self._turn = asyncio.Lock()

    async def allows(self, asked: "ConfirmationAsked") -> bool:
        """See `Person`. Anything but a clear yes is a no."""
        from earnest.surfaces.leave import question_lines, shown_lines  # noqa: PLC0415

        question = await asyncio.to_thread(question_lines, asked)
        while (said := (await self._answer(question, "allow it? [y]es, [s]how, [N]o ") or "").lower()) in SHOW:
            question = await asyncio.to_thread(shown_lines, asked)
        return said in YES

    async def decides(self, effect: "UnknownEffect") -> "EffectDecision | None":
        """What became of an effect that a crash left open. None: nobody knows, or says."""
        from earnest.runtime.unknown_effects import EffectDecision  # noqa: PLC0415

        question = ["", "A crash left open whether this happened:", f"  {effect.wording}"]
        question += [f"  in     {effect.key}", f"  why    {effect.why}"]
        said = await self._answer(question, "it [h]appened, it did [n]ot, [g]ive up, or [Enter] to leave it open > ")
        answers = {"h": EffectDecision.HAPPENED, "n": EffectDecision.ABSENT, "g": EffectDecision.GIVE_UP}
        answers |= {decision.value: decision for decision in EffectDecision}
        return answers.get((said or "").lower())

    async def ask(self, questions: Sequence[str], /) -> Sequence[str]:
        """See `Clarifier`."""
        return [await self._answer(["", question], "(Enter to skip) > ") or "" for question in questions]

    async def amends(self, plan: "PlanReady") -> str | None:
        """See `runtime.clarifications.Promisee`."""
        if not is_terminal():
            return ""
        question = ["", "This is promised, and so it will be decided:", *(text for text, _ in self.promised(plan))]
        while said := await self._answer(question, "[Enter] to begin, Ctrl+C to end it, or say what to change > "):
            if COMMAND.fullmatch(said) is None:
                break
            question = [LATER]
        return said

    async def _answer(self, question: Sequence[str], prompt: str) -> str | None:
        async with self._turn:
            await asyncio.sleep(0)  # what happened before the question is shown before it
            with self.still():
                say(*question)
                if sys.stdin.isatty():
                    termios.tcflush(sys.stdin, termios.TCIFLUSH)
                sys.stdout.write(prompt)
                sys.stdout.flush()
                said = None
                try:
                    said = await _line(sys.stdin.fileno())
                finally:
                    if said is None:  # nobody has ended the line
                        say("")
                return said


async def _line(descriptor: int) -> str | None:
    """The next line that is typed; None at the end of input. The terminal itself lets people correct it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
        typed = os.read(descriptor, LINE_BYTES_MAX)
        return typed.decode(errors="replace").strip() if typed else None
    except OSError:  # the terminal has gone
        return None
    finally:
        loop.remove_reader(descriptor)


class TypedLine:
    """Takes keys from the terminal within the block and hands in each line that is ended by Enter.

    Nothing is echoed, and Ctrl+C stays a signal. Where nobody sits before a terminal of ours, nothing is taken.
    """

    def __init__(self, hand_in: Callable[[str], object]) -> None:
        self.text = ""
        """What was typed of the line so far."""
        self._hand_in = hand_in
        self._descriptor = -1
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._before: list[Any] | None = None

    def __enter__(self) -> "TypedLine":
        if sys.stdin.isatty() and is_foreground():
            self._descriptor = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._descriptor)
            quiet = list(self._before)
            quiet[_LFLAG] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            with contextlib.suppress(termios.error):  # the terminal has gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The terminal as it was before, for a question."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def _read(self) -> None:
        try:
            typed = os.read(self._descriptor, LINE_BYTES_MAX)
        except OSError:
            typed = b""
        if not typed:  # the terminal has gone, and would be ready to be read for ever
            asyncio.get_running_loop().remove_reader(self._descriptor)
        keys = self._decoder.decode(typed)
        for key in _ESCAPE.sub("", keys):
            if key in "\r\n":
                line, self.text = self.text, ""
                self._hand_in(line)
            elif key in "\x7f\b":
                self.text = self.text[:-1]
            elif key == "\x15":  # Ctrl+U
                self.text = ""
            elif key.isprintable():
                self.text = (self.text + key)[:LINE_BYTES_MAX]
