"""An engine to play on: hands, a judge and a memory that follow a script, and an ear for every message."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from earnest.audit.boundary import violation_of
from earnest.contracts.criterion import Criterion
from earnest.contracts.playbook import Approach, Playbook, Step, Subtask
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.engine.codec import SENDERS, decode, encode
from earnest.engine.engine import Engine
from earnest.engine.gradient.constants import Constants
from earnest.engine.impossibility import ImpossibilityClaim
from earnest.engine.memory_messages import Recollection
from earnest.engine.messages import Budget, ConfirmationAnswered, ConfirmationAsked, FinalResult, Role, TaskRequested
from earnest.engine.participant import Participant
from earnest.engine.playbook import NoModels, PlaybookExecutor, PlaybookPerceiver, PlaybookPlanner
from earnest.engine.ports import Confirming, Executor, Perceiver, Planner, RoleModel
from earnest.engine.post import Outbox, Pause
from earnest.engine.run import EngineRun, RunLimits
from earnest.foundation.failures import FailureClass
from earnest.memory.megram import Tag
from earnest.memory.potential import Potentials
from earnest.verification.verdict import Answer, Cause, CriterionVerdict

P = TypeVar("P")
REQUEST = TaskRequested(raw_input="count", budget=Budget(time_ms=300_000))
VERDICTS: Mapping[str, Callable[[Criterion], CriterionVerdict]] = {
    "pass": lambda c: CriterionVerdict(id=c.id, answer=Answer.VERIFIED, reason="seen"),
    "logical": lambda c: CriterionVerdict(
        id=c.id, answer=Answer.NOT_VERIFIED, reason="wrong", failure_class=FailureClass.LOGICAL
    ),
    "environmental": lambda c: CriterionVerdict(
        id=c.id, answer=Answer.NOT_VERIFIED, reason="in the way", failure_class=FailureClass.ENVIRONMENTAL
    ),
    "unclassified": lambda c: CriterionVerdict(id=c.id, answer=Answer.NOT_VERIFIED, reason="not there"),
    "unclear": lambda c: CriterionVerdict(id=c.id, answer=Answer.UNCLEAR, reason="no idea", cause=Cause.VERIFIER),
}


def criteria(count: int, *, required: bool = True) -> tuple[Criterion, ...]:
    """C1, C2, …"""
    return tuple(Criterion(id=f"C{n}", text=f"criterion {n}", required=required) for n in range(1, count + 1))


def step(does: str = "ok", **args: str) -> Step:
    """A step that ends as `does` says: `ok`, `hang`, or a failure's class or `ours`."""
    return Step(tool="shell", args={"does": does, "program": "sh", "on": "x", **args})


def approach(name: str, does: str = "ok", *, corrections: int = 0, on: str = "x") -> Approach:
    """One step by the program of that name, and corrections that differ from it."""
    return Approach(
        id=name,
        steps=(step(does, program=name, on=on),),
        corrections=tuple((step("ok", program=name, on=on, again=str(n)),) for n in range(corrections)),
    )


def subtask(name: str, *approaches: Approach, sequence: int = 1, count: int = 1, required: bool = True) -> Subtask:
    """A subtask with `count` criteria."""
    return Subtask(
        id=name,
        intent=f"do {name}",
        sequence=sequence,
        criteria=criteria(count, required=required),
        approaches=approaches,
    )


def playbook(*subtasks: Subtask, count: int = 0) -> Playbook:
    """A playbook with `count` task criteria."""
    return Playbook(intent="count the lines", task_class="counting", subtasks=subtasks, criteria=criteria(count))


@dataclass
class ScriptedHands:
    """Hands that do what a call's arguments say, without doing anything."""

    performed: list[str] = field(default_factory=list)
    reverted: list[tuple[str, ...]] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[str] = field(default_factory=list)
    raising: Exception | None = None

    def faults(self, call: ToolCall) -> Sequence[str]:
        return () if "does" in call.args else ("it does nothing",)

    def tool_ids(self, call: ToolCall) -> frozenset[str]:
        return frozenset({f"{call.tool}:{call.args.get('program', 'sh')}"})

    def target(self, call: ToolCall) -> str:
        return str(call.args.get("on", ""))

    def digest(self, call: ToolCall) -> str:
        return call.digest("1")

    def refused(self, call: ToolCall, failure: ToolFailure) -> ToolRecord:
        return self.record(call, failure)

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        self.performed.append(key)
        if self.raising is not None:
            raise self.raising
        does = str(call.args["does"])
        if does == "hang":
            self.hanging.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.cancelled.append(key)
        classes = {"logical": FailureClass.LOGICAL, "environmental": FailureClass.ENVIRONMENTAL, "ours": None}
        failure = ToolFailure(failure_class=classes[does], code="said", message=does) if does in classes else None
        return self.record(call, failure)

    async def revert(self, key: str, call_prefixes: Sequence[str]) -> None:
        self.reverted.append(tuple(call_prefixes))

    def record(self, call: ToolCall, failure: ToolFailure | None = None) -> ToolRecord:
        return ToolRecord(
            tool=call.tool,
            tool_ids=self.tool_ids(call),
            target=self.target(call),
            args=call.args,
            call_digest=self.digest(call),
            ok=failure is None,
            exit_code=0 if failure is None else 1,
            failure=failure,
            output_excerpt=f"put out by {call.args.get('program')}",
            output_digest="",
            output_bytes=0,
            duration_ms=1,
            started_at_ms=0,
            changed=(),
            sandbox="",
        )


Script = Mapping[str, str]
"""Patterns of `r1/<subtask>/a1/C1` or `r1/task/C1` to verdicts. The first that fits counts, else `pass`."""


@dataclass
class ScriptedJudge:
    """A judge that answers from a script; `answer` may replace what it gives back as a whole."""

    script: Script = field(default_factory=dict)
    answer: Callable[[Sequence[Criterion]], Iterable[CriterionVerdict]] | None = None
    asked: list[str] = field(default_factory=list)

    async def judge(
        self, key: str, criteria: Sequence[Criterion], calls: Sequence[ToolRecord], *, output: str, model: RoleModel
    ) -> tuple[CriterionVerdict, ...]:
        self.asked.append(key)
        if self.answer is not None:
            return tuple(self.answer(criteria))
        return tuple(self._verdict(key, criterion) for criterion in criteria)

    def _verdict(self, key: str, criterion: Criterion) -> CriterionVerdict:
        place = f"{key.removesuffix('/verdict')}/{criterion.id}"
        word = next((word for pattern, word in self.script.items() if fnmatchcase(place, pattern)), "pass")
        return VERDICTS[word](criterion)


@dataclass
class ScriptedRecall:
    """A memory that knows the potentials it was given."""

    known: Mapping[Tag, Potentials] = field(default_factory=dict)
    asked: list[Tag] = field(default_factory=list)

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        self.asked.extend(tags)
        nothing = Potentials(attention=0.0, decision=0.0)
        return tuple(Recollection(tag=tag, potentials=self.known.get(tag, nothing)) for tag in tags)


@dataclass
class Kept:
    """Messages of an earlier process."""

    messages: dict[str, Envelope] = field(default_factory=dict)

    def kept(self, message_id: str) -> Envelope | None:
        return self.messages.get(message_id)


class Nobody:
    """Nobody is there to be asked, so nothing is confirmed."""

    async def confirm(self, _key: str, asked: ConfirmationAsked) -> ConfirmationAnswered:
        return ConfirmationAnswered(action=asked.action, approved=False, by="nobody", expires_at_ms=asked.expires_at_ms)


class Unbelieving:
    """Where a claim is looked into and nothing is confirmed."""

    async def confirmed(self, _claim: ImpossibilityClaim, _needs: Sequence[str], _criteria: Sequence[Criterion]) -> str:
        return ""

    async def lacking(self, _needs: Sequence[str], _criteria: Sequence[Criterion]) -> str:
        return ""


@dataclass
class Stage:
    """A bus with an ear, and a run to put on it."""

    book: Playbook | None = None
    script: Script = field(default_factory=dict)
    bus: Bus = field(default_factory=Bus)
    clock: VirtualClock = field(default_factory=VirtualClock)
    hands: ScriptedHands = field(default_factory=ScriptedHands)
    recall: ScriptedRecall = field(default_factory=ScriptedRecall)
    constants: Constants = field(default_factory=Constants)
    limits: RunLimits = field(default_factory=RunLimits)
    kept: Kept = field(default_factory=Kept)
    pauses: tuple[Pause, ...] = ()
    perceiver: Perceiver | None = None
    planner: Planner | None = None
    executor: Executor = field(default_factory=PlaybookExecutor)
    confirming: Confirming = field(default_factory=Nobody)
    heard: list[Envelope] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.judge = ScriptedJudge(self.script)
        self.bus.tap("ear", self._hear)

    def _hear(self, envelope: Envelope) -> None:
        """What the auditor would object to, and whether the message can be kept."""
        senders = {payload_type.__name__: frozenset(map(str, roles)) for payload_type, roles in SENDERS.items()}
        violation = violation_of(
            kind=envelope.kind,
            sender=envelope.sender,
            cause_known=envelope.causation_id in {earlier.id for earlier in self.heard},
            senders=senders,
        )
        if violation is not None:
            self.violations.append(f"{violation}: {envelope}")
        if decode(envelope.kind, encode(envelope.payload)) != envelope.payload:
            self.violations.append(f"changed by keeping it: {envelope}")
        self.heard.append(envelope)

    def of(self, payload_type: type[P]) -> list[P]:
        """What was said of one kind."""
        return [envelope.payload for envelope in self.heard if isinstance(envelope.payload, payload_type)]

    def only(self, payload_type: type[P]) -> P:
        """What was said of a kind exactly once."""
        (payload,) = self.of(payload_type)
        return payload

    @property
    def kinds(self) -> list[str]:
        """The kinds of all messages, in order."""
        return [envelope.kind for envelope in self.heard]

    def run(self) -> EngineRun:
        """The run, made once it is needed because its future belongs to the loop."""
        book = self.book or playbook(subtask("count", approach("wc")))
        return EngineRun(
            post=Outbox(run_id="run", bus=self.bus, clock=self.clock, kept=self.kept, pauses=self.pauses),
            perceiver=self.perceiver or PlaybookPerceiver(book),
            planner=self.planner or PlaybookPlanner(book, self.hands),
            executor=self.executor,
            hands=self.hands,
            models=NoModels(),
            judge=self.judge,
            constants=self.constants,
            limits=self.limits,
            confirming=self.confirming,
            reality=Unbelieving(),
        )

    async def work(self, meanwhile: Callable[[Engine], object] | None = None) -> FinalResult:
        """Work the run to its end, which is the only one and the last word, and in which every role kept its place."""
        async with Engine(bus=self.bus, clock=self.clock, recall=self.recall) as engine:
            working = asyncio.create_task(engine.work(self.run(), REQUEST))
            if meanwhile is not None:
                told = meanwhile(engine)
                if asyncio.iscoroutine(told):
                    await told
            result = await asyncio.wait_for(working, 10)
            await settle()
        self.check(result)
        return result

    def check(self, result: FinalResult) -> None:
        """What holds of every run."""
        assert self.violations == []
        assert self.only(FinalResult) == result
        assert self.kinds[-1] == "FinalResult"
        ids = [envelope.id for envelope in self.heard]
        assert len(set(ids)) == len(ids)
        assert {envelope.run_id for envelope in self.heard} == {"run"}


def resumed(stage: Stage, *, kept: int) -> Stage:
    """The next process on the same run, of which the first `kept` messages were written down."""
    written = {e.id: replace(e, payload=decode(e.kind, encode(e.payload))) for e in stage.heard[:kept]}
    now_ms = stage.clock.now_ms()
    return Stage(
        book=stage.book,
        script=stage.judge.script,
        recall=stage.recall,
        kept=Kept(written),
        clock=VirtualClock(now_ms + 60_000),
        pauses=(Pause(from_ms=now_ms, to_ms=now_ms + 60_000),),
    )


async def settle() -> None:
    """Give every task that can run its turns."""
    for _ in range(50):
        await asyncio.sleep(0)


@dataclass
class Dialogue:
    """One role alone on the bus: tell it something, hear what it says."""

    stage: Stage
    at: EngineRun
    role: Role
    _said: int = 0
    _told: int = 0

    async def tell(self, sender: Role, *payloads: object) -> list[object]:
        """What the role says to this."""
        for payload in payloads:
            self._told += 1
            cause = self.stage.heard[-1] if self.stage.heard else None
            self.at.post.send(sender, f"told/{self._told}", payload, cause)
        await settle()
        news = self.stage.heard[self._said :]
        self._said = len(self.stage.heard)
        return [envelope.payload for envelope in news if envelope.sender == self.role]


@asynccontextmanager
async def alone(
    stage: Stage, make: Callable[[dict[str, EngineRun]], Participant[object]] | Callable[..., object]
) -> AsyncIterator[Dialogue]:
    """A dialogue with one role. Its words must be its own to say."""
    run = stage.run()
    role = make({run.id: run})
    assert isinstance(role, Participant)
    inbox = stage.bus.subscribe(role.role, role.hears, capacity=1_000, inbox=True)
    attending = asyncio.create_task(role.attend(inbox))
    yield Dialogue(stage, run, role.role)
    inbox.close()
    await attending
    await run.cancel_work()
    assert not [word for word in stage.violations if "unknown_cause" not in word]
