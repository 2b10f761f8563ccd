"""The live view: a line for whatever happens in a run and, on a terminal, a status line that moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from earnest.effects.ground.bus.api import Bus, Envelope, Subscription
from earnest.effects.ground.clock import Clock
from earnest.engine.messages import CorrectionSignal, ExecutionResult, SubTask, SubTaskOutcome, ToolCalled
from earnest.engine.model_messages import ModelAnswered, ModelAsked, ModelTurn
from earnest.foundation.instants import duration_text
from earnest.foundation.text import printable
from earnest.surfaces.cli.asking import Terminal, TypedLine
from earnest.surfaces.cli.lines import NAMES, Teller
from earnest.surfaces.cli.printing import short
from earnest.surfaces.cli.screen import Screen, wrapped
from earnest.surfaces.cli.spoken import OutputLines, SpokenLines

if TYPE_CHECKING:
    from earnest.runtime.hands import Listener

QUEUE_MAX: Final = 10_000
REFRESH_MS: Final = 100
TARGET_CHARACTERS_MAX: Final = 70
STATUS_CHARACTERS_MAX: Final = 60
WIDTH_MIN: Final = 60
MARGIN_CHARACTERS: Final = 24
OUTPUT_STYLES: Final = {1: "dim", 2: "dim red"}


@contextlib.asynccontextmanager
async def watching(
    bus: Bus,
    clock: Clock,
    run_id: str,
    terminal: Terminal,
    *,
    hidden: Collection[type] = (),
    typed: TypedLine | None = None,
) -> AsyncIterator["Listener"]:
    """Print what happens in the run, but for the `hidden` messages, until the block ends, and what the listener hears.

    What somebody has `typed` stands in the moving line. That nobody listens any more does not end the run. While
    `terminal` asks something, nothing moves.
    """
    subscription = bus.subscribe("live view", None, capacity=QUEUE_MAX)
    view = _View(Screen(), clock, run_id, frozenset(hidden), typed)
    task = asyncio.get_running_loop().create_task(view.follow(subscription, terminal))
    try:
        yield view
    finally:
        subscription.close()
        await task


class _View:
    def __init__(
        self, screen: Screen, clock: Clock, run_id: str, hidden: frozenset[type], typed: TypedLine | None
    ) -> None:
        self._screen = screen
        self._typed = typed
        self._hidden = hidden
        self._clock = clock
        self._run_id = run_id
        self._started_ms = clock.now_ms()
        self._teller = Teller(TARGET_CHARACTERS_MAX)
        self._busy: dict[str, str] = {}
        self._spoken: dict[ModelTurn, SpokenLines] = {}
        self._put_out: dict[str, dict[int, OutputLines]] = {}

    async def follow(self, subscription: Subscription, terminal: Terminal) -> None:
        with self._screen.moving(), self._typed or contextlib.nullcontext():
            ticker = asyncio.get_running_loop().create_task(self._tick())
            terminal.still = self._still
            terminal.promised = self._teller.promised
            async for envelope in subscription:
                if envelope.run_id == self._run_id and type(envelope.payload) not in self._hidden:
                    self._show(envelope)
            terminal.still = contextlib.nullcontext
            ticker.cancel()

    @contextlib.contextmanager
    def _still(self) -> Iterator[None]:
        with self._screen.still(), self._typed.paused() if self._typed else contextlib.nullcontext():
            yield

    async def _tick(self) -> None:
        while True:
            spent = duration_text(self._clock.now_ms() - self._started_ms)
            busy = short(", ".join(self._busy.values()) or "deciding", STATUS_CHARACTERS_MAX)
            heard = [lines for streams in self._put_out.values() for lines in streams.values()]
            said = [lines.tail for lines in (*self._spoken.values(), *heard)][-1:]
            tail = printable("".join(said)[-STATUS_CHARACTERS_MAX:])
            typed = self._typed.text[-STATUS_CHARACTERS_MAX:] if self._typed else ""
            beside = (f"> {typed}▏", "cyan") if typed else (tail, "dim")
            self._screen.move(f"{spent}  {busy}  ", *beside)
            await self._clock.sleep_ms(REFRESH_MS)

    def said(self, turn: ModelTurn, piece: str | None) -> None:
        """See `Listener`."""
        spoken = self._spoken.get(turn) or self._spoken.setdefault(turn, SpokenLines(self._spoken_width()))
        if piece is None:
            self._say(_speaker(turn), "[this answer is discarded]")
            del self._spoken[turn]
            return
        self._say(_speaker(turn), *spoken.take(piece))

    def put_out(self, key: str, stream: int, piece: bytes, left_out: int) -> None:
        """See `Listener`. `count` is the subtask of the key `r1/count/a2/c3`."""
        streams = self._put_out.setdefault(key, {})
        if stream not in streams:
            streams[stream] = OutputLines(self._spoken_width())
        self._show_output(key.split("/")[1], stream, streams[stream].take_bytes(piece, left_out))

    def _show_output(self, who: str, stream: int, lines: Iterable[str]) -> None:
        self._say(who, *(f"│ {line}" for line in lines), style=OUTPUT_STYLES[stream])

    def _say(self, who: str, *lines: str, style: str = "dim italic") -> None:
        """All at once, as the moving line is drawn anew each time."""
        margin = self._screen.styled(f"{'':>7}  {who:<13.13}  ", "dim")
        if lines:
            self._screen.print(*(margin + self._screen.styled(line, style) for line in lines))

    def _spoken_width(self) -> int:
        return max(WIDTH_MIN, self._screen.width - MARGIN_CHARACTERS)

    def _show(self, envelope: Envelope) -> None:
        if isinstance(envelope.payload, ModelAnswered) and (spoken := self._spoken.pop(envelope.payload.turn, None)):
            self._say(_speaker(envelope.payload.turn), *spoken.rest())
        if isinstance(envelope.payload, ToolCalled):
            for stream, lines in self._put_out.pop(envelope.payload.key, {}).items():
                self._show_output(envelope.payload.subtask_id, stream, lines.rest())
        self._track(envelope.payload)
        when = "before" if envelope.replayed else duration_text(envelope.at_ms - self._started_ms)
        margin = f"{when:>7}  {NAMES.get(envelope.sender, envelope.sender):<13}  "
        for text, style in self._teller.lines_of(envelope.payload):
            self._print(margin, printable(text), style)
            margin = " " * len(margin)

    def _print(self, margin: str, text: str, style: str) -> None:
        """On a terminal, wrapped beside the margin; elsewhere one line, whatever its length."""
        is_wide = self._screen.is_terminal and self._screen.width >= WIDTH_MIN
        for part in wrapped(text, self._screen.width - len(margin)) if is_wide else [text]:
            self._screen.print(self._screen.styled(margin, "dim") + self._screen.styled(part, style))
            margin = " " * len(margin)

    def _track(self, payload: object) -> None:
        match payload:
            case SubTask(subtask=subtask):
                self._busy[subtask.id] = f"{subtask.id}: working"
            case ExecutionResult(subtask_id=subtask_id):
                self._busy[subtask_id] = f"{subtask_id}: being judged"
            case CorrectionSignal(subtask_id=subtask_id):
                self._busy[subtask_id] = f"{subtask_id}: working"
            case SubTaskOutcome(subtask_id=subtask_id):
                self._busy.pop(subtask_id, None)
            case ModelAsked(turn=turn):
                self._busy[turn.key] = f"{turn.subtask_id or turn.role}: asking its model"
            case ModelAnswered(turn=turn):
                self._busy.pop(turn.key, None)
            case _:
                pass


def _speaker(turn: ModelTurn) -> str:
    return turn.subtask_id or NAMES.get(turn.role, turn.role)
