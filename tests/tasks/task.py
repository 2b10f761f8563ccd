"""One task in words, as people give them, and how it is worked well and badly. A family is a YAML file of tasks.

A task has a `request`, the `files` of the project by path, which of its folders and files may be changed (`edits`) or
read (`inputs`), what the request takes as given (`needs`; of a missing one what an honest planner `claims`), where the
user gave leave to `write`, and the criteria that a planner of average wit would write (`plan`, or `parts` with a plan
and deeds each). Of a criterion without a check, `sees` are patterns that an honest judge looks for in what it is shown,
each of which must stand somewhere (`{path: pattern}`: in that file, or in `what the executor says`), after the commands
by which it would `measure`.

Deeds are `honest`, `careless` (half of it is done, all of it claimed) and `lying`. A call is a command line, or a
mapping with `write`, `read`, `edit`, `delete` or `move`; `writes` asks for leave. `truth` is a script of sh that ends
with 0 if the task was really done. It starts in the workspace and knows `$PROJECT`, the folder of the user, and
`$OUTPUT`, the file that holds the answer. It is told nothing of criteria, checks and verdicts.

`ends` is how the honest run ends if not in acceptance. `before` is the turn of a conversation that this one follows.
`opinion`: neither a check nor a measurement can decide it.
`HERE` stands for the trial's folder, relative to the home.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from earnest.foundation.canonical import JsonObject

HERE: Final = Path(__file__).parent
_KEYS: Final = {"request", "truth", "files", "edits", "inputs", "needs", "plan", "parts", "honest", "careless", "lying"}
_MORE: Final = {"ends", "before", "opinion", "claims", "write"}
_OURS: Final = {"sees", "measure"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A criterion as the planner writes it, and what an honest judge does about it."""

    told: JsonObject
    sees: tuple[tuple[str, str], ...] = ()
    measure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What an executor does, and what it says in the end. `impossible`: its claim instead, after the calls."""

    calls: tuple[JsonObject, ...]
    says: str = "Done, as asked."
    impossible: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A subtask: the deeds by who works it."""

    intent: str
    wanted: tuple[Wanted, ...]
    deeds: Mapping[str, Deed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """See the module. The `criteria` of its parts are theirs, `wanted` those of the whole."""

    name: str
    request: str
    truth: str
    parts: tuple[Part, ...]
    wanted: tuple[Wanted, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    claims: JsonObject | None = None
    ends: str = "accept"
    before: "Task | None" = None
    opinion: bool = False
    write: tuple[str, ...] = ()

    @property
    def criteria(self) -> tuple[Wanted, ...]:
        """Those of the task and of its parts."""
        return (*self.wanted, *(one for part in self.parts for one in part.wanted))


def tasks(here: str) -> dict[str, Task]:
    """Every task by family and name, set up for a trial in the folder `here`."""
    return {
        f"{path.stem}/{name}": _task(f"{path.stem}/{name}", given)
        for path in sorted(HERE.glob("*.yaml"))
        for name, given in yaml.safe_load(path.read_text(encoding="utf-8").replace("HERE", here)).items()
    }


def _task(name: str, given: Mapping[str, Any]) -> Task:
    if unknown := given.keys() - _KEYS - _MORE:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    wanted = _wanted(given.get("plan", ()))
    whole = {"intent": given["request"], "plan": given.get("plan", ()), **given}
    return Task(
        name=name,
        request=given["request"],
        truth=given["truth"],
        parts=tuple(_part(part) for part in given.get("parts", [whole])),
        wanted=wanted,
        files=given.get("files", {}),
        edits=tuple(given.get("edits", ())),
        inputs=tuple(given.get("inputs", ())),
        needs=tuple(given.get("needs", ())),
        claims=_claim(given.get("claims"), "surroundings"),
        ends=given.get("ends", "accept"),
        before=_task(f"{name}/before", given["before"]) if "before" in given else None,
        opinion=given.get("opinion", False),
        write=tuple(given.get("write", ())),
    )


def _part(given: Mapping[str, Any]) -> Part:
    deeds = {who: _deed(given.get(who, given["honest"])) for who in ("honest", "careless", "lying")}
    return Part(intent=given["intent"], wanted=_wanted(given["plan"]), deeds=deeds)


def _deed(given: Mapping[str, Any]) -> Deed:
    calls = tuple(map(_call, given.get("calls", ())))
    claim = _claim(given.get("impossible"), f"call {len(calls)}")
    return Deed(calls=calls, says=given.get("says", "Done, as asked."), impossible=claim)


def _claim(given: Sequence[str] | None, record: str) -> JsonObject | None:
    if given is None:
        return None
    kind, name = given
    return {"kind": kind, "name": name, "because": "I looked and it is not there", "record": record}


def _call(given: str | Mapping[str, Any]) -> JsonObject:
    match given:
        case str():
            return _calling("shell", command=given)
        case {"run": command, "writes": [*writes]}:
            return {**_calling("shell", command=command), "writes": list(map(str, writes))}
        case {"write": path, "text": text}:
            return _calling("write_file", path=path, content=text)
        case {"read": path}:
            return _calling("read_file", path=path)
        case {"edit": path, "old": old, "new": new}:
            return _calling("edit_file", path=path, old=old, new=new)
        case {"delete": path}:
            return _calling("delete", path=path)
        case {"move": path, "to": to}:
            return _calling("move", path=path, to=to)
    raise ValueError(f"no call: {given}")


def _calling(tool: str, **args: str) -> JsonObject:
    return {"tool": tool, "args": args}


def _wanted(given: Sequence[Mapping[str, Any]]) -> tuple[Wanted, ...]:
    return tuple(
        Wanted(
            told={key: value for key, value in one.items() if key not in _OURS},
            sees=tuple(
                ("", seen) if isinstance(seen, str) else next(iter(seen.items())) for seen in one.get("sees", ())
            ),
            measure=tuple(one.get("measure", ())),
        )
        for one in given
    )
