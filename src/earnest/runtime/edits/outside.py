"""What calls with leave changed outside the workspace: kept before, told after, and brought back by an undo."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from earnest.effects.ground.durable import sync_file, sync_folder
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.hands.edits.preimage import Preimage, TooMuch, taken
from earnest.effects.hands.edits.step import EditStep, FileMarks, Marks, marks_of, marks_to_json
from earnest.effects.hands.sandbox.private import private_places
from earnest.engine.facts import OUTCOME
from earnest.foundation.canonical import JsonObject, JsonValue, digest_bytes
from earnest.foundation.errors import Broken

OUTSIDE: Final = "outside"
"""Ends the key of the outcome that tells what a call changed."""


class EditPart(NamedTuple):
    """What is replaced at one of the user's paths, and the marks that its files had."""

    path: Path
    steps: tuple[EditStep, ...]
    marks: Marks

    def to_json(self) -> JsonObject:
        """The form kept in facts."""
        steps: list[JsonValue] = [step.to_json() for step in self.steps]
        return {"path": str(self.path), "steps": steps, "modes": marks_to_json(self.marks)}

    @classmethod
    def from_json(cls, value: JsonValue) -> "EditPart":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match value:
            case {"path": str(path), "steps": [*steps], "modes": dict(modes)}:
                return cls(Path(path), tuple(map(EditStep.from_json, steps)), marks_of(modes))
        raise Broken("what was to be applied cannot be read")


class Preimages:
    """Keeps what stands where a call may write, in the run's `store`, but nothing private in `home`. It blocks."""

    def __init__(self, store: Path, *, run_id: str, home: Path | None, ours: Path) -> None:
        self._store = store
        self._run_id = run_id
        self._home = home
        self._ours = ours

    def keep(self, key: str, paths: Sequence[Path]) -> None:
        """Before the call of this key begins. Made again after a crash, what stood there the first time counts."""
        place = _manifest(self._store, key)
        if place.exists():
            return
        private = private_places(self._home, (self._ours,)) if self._home else (self._ours,)
        kept: list[JsonValue] = []
        unkept: list[JsonValue] = []
        for path in paths:
            try:
                kept.append(taken(path, self._store, self._run_id, private).to_json())
            except (TooMuch, OSError, Broken):
                unkept.append(str(path))
        self._store.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = place.with_suffix(".half")
        hidden: list[JsonValue] = [str(one) for one in private]
        half.write_text(json.dumps({"key": key, "kept": kept, "unkept": unkept, "hidden": hidden}))
        sync_file(half)
        half.replace(place)
        sync_folder(self._store)

    def changed(self, key: str) -> JsonObject:
        """After it: each path that differs, and where what stood there was too much to be kept.

        Nothing, of a call that began before anything was kept.
        """
        place = _manifest(self._store, key)
        return _changed_since(json.loads(place.read_text())) if place.exists() else {"changed": [], "unkept": []}


def changed_outside(reader: BooksReader, run_id: str, store: Path) -> tuple[tuple[EditPart, ...], tuple[str, ...]]:
    """All that a run changed outside, a part for each outermost path, and the paths of which nothing was kept.

    Of a call that a crash cut off, what stands there now is taken for what it left. Reads the disk then.
    """
    told: dict[str, JsonObject] = {}
    for fact in reader.facts(kind=(OUTCOME,), subject=run_id):
        key, ending = str(fact.body["key"]).rpartition("/")[::2]
        if ending == OUTSIDE:
            told[key] = fact.body
    for place in sorted(store.glob("*.before"), key=os.path.getmtime) if store.is_dir() else ():
        before = json.loads(place.read_text())
        if before["key"] not in told:
            told[before["key"]] = _changed_since(before)
    parts = [EditPart.from_json(part) for body in told.values() for part in _listed(body["changed"])]
    unkept = sorted({str(path) for body in told.values() for path in _listed(body["unkept"])})
    return tuple(_joined(parts)), tuple(unkept)


def _manifest(store: Path, key: str) -> Path:
    return store / f"{digest_bytes(key.encode())[-32:]}.before"


def _changed_since(before: JsonObject) -> JsonObject:
    hidden = tuple(Path(str(path)) for path in _listed(before["hidden"]))
    parts: list[JsonValue] = []
    unkept = list(_listed(before["unkept"]))
    for kept in _listed(before["kept"]):
        preimage = Preimage.from_json(kept)
        try:
            steps = preimage.steps(hidden)
        except OSError:  # the call took our leave to read: what it did there nobody can tell
            unkept.append(str(preimage.path))
            continue
        marks = {step.path: preimage.marks[step.path] for step in steps if step.path in preimage.marks}
        if steps:
            parts.append(EditPart(preimage.path, steps, marks).to_json())
    return {"changed": parts, "unkept": unkept}


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Broken("what was changed outside the workspace cannot be read")
    return value


def _joined(parts: Sequence[EditPart]) -> Iterator[EditPart]:
    """Several calls at one path are one change: from what stood there first to what stood there last."""
    roots = {part.path for part in parts}
    steps: dict[Path, EditStep] = {}
    marks: dict[Path, FileMarks] = {}
    for part in parts:
        for step in part.steps:
            place = part.path / step.path if step.path else part.path
            first = steps.get(place, step)
            steps[place] = replace(step, before=first.before)
            if step.path in part.marks and first is step:
                marks[place] = part.marks[step.path]
    for root in sorted(root for root in roots if not roots.intersection(root.parents)):
        below = {place: step for place, step in steps.items() if place.is_relative_to(root)}
        named = {place: "" if place == root else str(place.relative_to(root)) for place in below}
        changed = [replace(below[at], path=named[at]) for at in sorted(below) if below[at].before != below[at].after]
        kept = {named[place]: one for place, one in marks.items() if place in named}
        if changed:
            yield EditPart(root, tuple(changed), kept)


def told_outside(parts: Iterable[EditPart]) -> Iterator[tuple[str, Path]]:
    """Each path that differs, and how: `added`, `removed` or `changed`."""
    for part in parts:
        for step in part.steps:
            how = "added" if step.before is None else "removed" if step.after is None else "changed"
            yield how, part.path / step.path if step.path else part.path
