"""Hands on a real workspace and a real book, one pair for each process that works a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import Sandbox
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.messages import ConfirmationAnswered, ConfirmationAsked
from earnest.engine.ports import NeedsConfirmation
from earnest.runtime.approvals import Approvals, Person
from earnest.runtime.hands import JournaledHands
from earnest.runtime.order import Grants
from earnest.runtime.run_book import RunBook, read_kept


@dataclass
class Says:
    """A person who always gives the same answer, and remembers the questions."""

    answer: bool

    def __post_init__(self) -> None:
        self.asked: list[ConfirmationAsked] = []

    async def allows(self, asked: ConfirmationAsked) -> bool:
        self.asked.append(asked)
        return self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What one process has of a run."""

    hands: JournaledHands
    approvals: Approvals
    workspace: Workspace

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        """As the guard does it. Raises `NeedsConfirmation` after a no, or after a yes that does not hold."""
        try:
            return await self.hands.call(key, call, look)
        except NeedsConfirmation as needs:
            if not (await self.answer(needs)).approved:
                raise
            return await self.hands.call(needs.key, needs.call, look)

    async def answer(self, needs: NeedsConfirmation) -> ConfirmationAnswered:
        """Have the question answered."""
        return await self.approvals.confirm(needs.key, needs.asked)


async def begin(
    folder: Path,
    database: Database,
    *,
    clock: Clock,
    sandbox: Sandbox,
    person: Person | None = None,
    grants: Grants | None = None,
    home: Path | None = None,
    toolbox: Toolbox | None = None,
    run_id: str = "run",
) -> Life:
    """A process begins to work the run, from what the last one left."""
    kept = await database.read(lambda reader: read_kept(reader, run_id))
    grants = grants or Grants()
    book = RunBook(
        run_id=run_id,
        database=database,
        clock=clock,
        kept=kept,
        recorded=lambda _seq, _envelope: None,
        failed=lambda _reason: None,
    )
    approvals = Approvals(book=book, clock=clock, beforehand=grants.approved, person=person, kept=kept.outcomes)
    workspace = Workspace(folder / run_id / "workspace", folder / run_id / "stages")
    hands = JournaledHands(
        book=book,
        toolbox=toolbox or Toolbox(clock),
        workspace=workspace,
        sandbox=sandbox,
        inputs=(),
        grants=grants,
        approvals=approvals,
        clock=clock,
        home=home,
    )
    await hands.recover(kept.outcomes)
    return Life(hands=hands, approvals=approvals, workspace=workspace)


def shell(command: str, *, writes: Sequence[object] = (), network: bool = False) -> ToolCall:
    """A command line that asks for so much."""
    return ToolCall(tool="shell", args={"command": command}, writes=tuple(map(str, writes)), network=network)
