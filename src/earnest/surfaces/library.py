"""The Python interface: a task worked, work verified, and the contract that both are held to (docs/python.md).

`earnest` exports the names of `__all__`; no others are promised to stay.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeAlias, TypeVar

from earnest.app.judging import equipment_beside, spec_of, spec_of_document, verdicts_on
from earnest.app.judging_settings import read_judging_settings
from earnest.app.places import HOME_VARIABLE
from earnest.contracts.spec import FORMAT, VerificationSpec, spec_to_json
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError, Faulty, Refused, Waits
from earnest.runtime.judging import submissions
from earnest.verification.verdict import Answer, Verdict

if TYPE_CHECKING:
    from earnest.app.platform import Platform
    from earnest.app.settings import Settings
    from earnest.engine.messages import FinalResult
    from earnest.runtime.edits.applying import Edits
    from earnest.runtime.edits.outside import EditPart
    from earnest.runtime.order import Order

__all__ = [
    "Answer",
    "Contract",
    "EarnestError",
    "Faulty",
    "Refused",
    "Run",
    "Verdict",
    "Waits",
    "resume",
    "resume_async",
    "run",
    "run_async",
    "verify",
    "verify_async",
]

Place: TypeAlias = str | os.PathLike[str]
Outcome: TypeAlias = Literal["accepted", "unmet", "abandoned"]
OUTCOMES: Final[Mapping[str, Outcome]] = {"accept": "accepted", "success": "unmet", "abandon": "abandoned"}
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _waiting(act: Callable[_Given, Coroutine[Any, Any, _Result]]) -> Callable[_Given, _Result]:
    """The same for whoever waits: in a thread of its own where an event loop runs already, as in a notebook."""

    @wraps(act)
    def wait(*args: _Given.args, **named: _Given.kwargs) -> _Result:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(act(*args, **named))
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(lambda: asyncio.run(act(*args, **named))).result()

    wait.__name__ = wait.__qualname__ = act.__name__.removesuffix("_async")
    return wait


@dataclass(frozen=True, slots=True)
class Contract:
    """What work is held to. `folder` is where the files lie that its checks name."""

    spec: VerificationSpec
    folder: Path

    @classmethod
    def of(
        cls, title: str, criteria: Mapping[str, Mapping[str, Any]], *, text: str = "", folder: Place = "."
    ) -> "Contract":
        """Criteria C1, C2 and so on by their texts, each with its check as docs/checks/ describes it.

        Raises `Faulty` with every fault.
        """
        numbered = enumerate(criteria.items(), 1)
        entries: list[JsonObject] = [
            {"id": f"C{number}", "text": said, "check": dict(check)} for number, (said, check) in numbered
        ]
        document: JsonObject = {"format": FORMAT, "title": title, "text": text or title, "criteria": list(entries)}
        place = Path(folder).absolute()
        return cls(spec_of_document(document, place), place)

    @classmethod
    def read(cls, path: Place) -> "Contract":
        """The contract in a file (`earnest-spec-v1`, docs/specs.md). Raises `Faulty` with every fault and its line."""
        return cls(*spec_of(Path(path)))

    def document(self) -> JsonObject:
        """The contract in the format of its file."""
        return spec_to_json(self.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run ended. Nothing of the caller's has changed yet: `apply` does that, and only if it was accepted.

    `unmet` gives the reason for each criterion that is not met, by its text. `cause` says why it was abandoned. `diff`
    is what it changed in the copy of `edit`, as `patch -p1` reads it. Money is in millionths of the price's currency.
    """

    id: str
    outcome: Outcome
    cause: str
    summary: str
    output: str
    unmet: Mapping[str, str]
    diff: str
    workspace: Path
    rounds: int
    elapsed_ms: int
    tokens: int
    model_calls: int
    cost_micro: int
    home: Path

    @property
    def accepted(self) -> bool:
        """Whether every required criterion was verified."""
        return self.outcome == "accepted"

    async def apply_async(self, *, merge: bool = False) -> tuple[Path, ...]:
        """Put the change in the place of the originals, all of it or nothing; the places that were changed.

        `merge` joins texts that were changed meanwhile. Raises `Refused("edit_conflict")` where that is not possible,
        and `Refused` where nothing may be applied.
        """
        return await self._perform(lambda edits: edits.apply(self.id, merge=merge))

    async def undo_async(self) -> tuple[Path, ...]:
        """Bring back what an applied change replaced. Raises as `apply`."""
        return await self._perform(lambda edits: edits.undo(self.id))

    apply, undo = _waiting(apply_async), _waiting(undo_async)
    """The same for programs without an event loop."""

    async def _perform(self, act: "Callable[[Edits], Coroutine[Any, Any, tuple[EditPart, ...]]]") -> tuple[Path, ...]:
        from earnest.app.own_runs import open_edits  # noqa: PLC0415

        async with open_edits(_settings(self.home)) as edits:
            return tuple(part.path for part in await act(edits))


async def run_async(
    task: str | Path,
    *,
    edit: Place | Iterable[Place] = (),
    inputs: Place | Iterable[Place] = (),
    model: str | None = None,
    base_url: str | None = None,
    executor: str | None = None,
    executor_sandbox: bool = False,
    contract: Contract | Place | None = None,
    allow_write: Place | Iterable[Place] = (),
    allow_network: bool = False,
    max_tokens: int | None = None,
    max_calls: int | None = None,
    max_cost_micro: int | None = None,
    max_time_s: int | None = None,
    home: Place | None = None,
) -> Run:
    """Work a task in words, or the playbook at a `Path`, under contract, in a run of its own.

    `edit` names files and folders of which a copy may be changed, `inputs` what may be read. `model` and `base_url` go
    before the settings. `executor` is a program that does the work instead of a model (docs/tools.md), judged by
    `contract` if there is one. `home` is the data directory, by default `EARNEST_HOME` or the user's. Money is in
    millionths, time in seconds.

    Raises `Faulty` for a faulty task, `Refused` where it cannot begin, `Waits` for a run that `resume` goes on with;
    cancelled, it leaves such a run.
    """
    from earnest.app.orders import Bounds, Words, named  # noqa: PLC0415
    from earnest.app.readers import order_of  # noqa: PLC0415
    from earnest.runtime.order import Grants  # noqa: PLC0415

    if contract is not None and executor is None:
        raise TypeError("contract goes with executor")
    settings = _settings(home, model, base_url)
    grants = Grants(write=tuple(path.absolute() for path in _paths(allow_write)), network=allow_network)
    held_to = _contract(contract) if contract is not None else None
    shown = named(_paths(inputs), "inputs")
    words = Words(
        text=str(task),
        bounds=Bounds(tokens=max_tokens, model_calls=max_calls, cost_micro=max_cost_micro, time_s=max_time_s),
        inputs=shown,
        edits=named(_paths(edit), "edit", taken=shown),
        executor=executor,
        executor_sandbox=executor_sandbox,
        spec=(held_to.spec, held_to.folder) if held_to else None,
        equipment=equipment_beside(held_to.spec, held_to.folder, settings) if held_to else None,
    )
    if isinstance(task, str):
        order: Order = words.order(settings.models, grants)
    elif words == Words(text=str(task)):
        order = order_of(task, grants, settings)
    else:
        raise TypeError("a playbook states its own inputs, edits, criteria and bounds")
    return await _worked(settings, lambda platform: platform.runs.begin(order))


async def resume_async(run_id: str, *, home: Place | None = None) -> Run:
    """Go on with a run that waits. Raises as `run`."""

    async def same(_: "Platform") -> str:
        return run_id

    return await _worked(_settings(home), same)


async def verify_async(
    contract: Contract | Place, submission: Place, *, keep: bool | None = None, home: Place | None = None
) -> Verdict:
    """Judge a folder or an archive by a contract, or by the specification in a file.

    `keep`: whether the verdict is kept for a replay, by default if there is a data directory. Raises `Faulty`.
    """
    held_to = _contract(contract)
    settings = read_judging_settings(_environment(home))
    handed_in = submissions(held_to.spec, held_to.folder, [Path(submission)])
    (judged,) = await verdicts_on(handed_in, settings, lambda *_: None, keep=keep)
    return judged.verdict


run, resume, verify = _waiting(run_async), _waiting(resume_async), _waiting(verify_async)
"""What they are named after, for programs without an event loop."""


async def _worked(settings: "Settings", begin: "Callable[[Platform], Coroutine[Any, Any, str]]") -> Run:
    from earnest.app.platform import open_platform  # noqa: PLC0415
    from earnest.runtime.telling import note_told  # noqa: PLC0415

    async with open_platform(settings) as platform:
        run_id = await begin(platform)
        before = await platform.runs.untold(run_id)
        result = before.result if before else await platform.runs.work(run_id)
        await platform.after_run()
        workspace = platform.runs.workspace_of(run_id)
    run = _run(settings, run_id, workspace, result)
    note_told(workspace.parent)
    return run


def _run(settings: "Settings", run_id: str, workspace: Path, result: "FinalResult") -> Run:
    usage = result.usage
    return Run(
        id=run_id,
        outcome=OUTCOMES[result.directive],
        cause=result.cause or "",
        summary=result.summary,
        output=result.output,
        unmet={one.text: one.reason for one in result.unmet},
        diff=_diff(settings, run_id),
        workspace=workspace,
        rounds=result.round,
        elapsed_ms=result.elapsed_ms,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        model_calls=usage.model_calls,
        cost_micro=usage.cost_micro,
        home=settings.home,
    )


def _diff(settings: "Settings", run_id: str) -> str:
    from earnest.app.readers import change_if_any  # noqa: PLC0415

    change = change_if_any(settings, run_id)
    return "".join(f"{line}\n" for edit in change.edits for line in edit.diff()) if change else ""


def _contract(given: Contract | Place) -> Contract:
    return given if isinstance(given, Contract) else Contract.read(given)


def _paths(given: Place | Iterable[Place]) -> list[Path]:
    return [Path(given)] if isinstance(given, (str, os.PathLike)) else [Path(one) for one in given]


def _settings(home: Place | None, model: str | None = None, base_url: str | None = None) -> "Settings":
    from earnest.app.settings import read_settings  # noqa: PLC0415

    return read_settings(_environment(home, model, base_url))


def _environment(home: Place | None, model: str | None = None, base_url: str | None = None) -> dict[str, str]:
    """What the settings are read from: the process's environment, and over it what the caller gives."""
    from earnest.app.model_settings import ENVIRONMENT  # noqa: PLC0415

    given = {HOME_VARIABLE: home, ENVIRONMENT["default"]: model, ENVIRONMENT["base_url"]: base_url}
    return {**os.environ, **{name: os.fspath(value) for name, value in given.items() if value is not None}}
