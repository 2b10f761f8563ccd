"""Verdicts, kept so that they can be reached again.

Each with the work, the criteria and what the checks name beside the spec.

Files of their own, not facts: judging by hand runs beside whoever writes the books.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from earnest.contracts.criterion import Criterion, criterion_to_json, no_check_faults, read_criteria
from earnest.contracts.node import node_of
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.sandbox.equipped import Equipment
from earnest.effects.hands.workspace.kept import KeptFiles, entries_from_json
from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotEntry, entries_to_json
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.shapes import from_json, to_json
from earnest.verification.limits import read_limits
from earnest.verification.plugin import Promise
from earnest.verification.replay import FORMAT, criteria_digest, seed_of, verdict_id
from earnest.verification.verdict import CriterionVerdict, Verdict

_DISTRUSTED: Final = "distrusted.json"
_CONTENT: Final = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVerdict:
    """The answers of a verdict and what led to them. `beside` are the files beside the spec that its checks name."""

    id: str
    at_ms: int
    criteria: tuple[Criterion, ...]
    promise: Promise
    answers: tuple[CriterionVerdict, ...]
    sandbox: str
    snapshot: str
    files: tuple[SnapshotEntry, ...]
    beside: tuple[SnapshotEntry, ...]
    equipment: Equipment | None = None


class VerdictBook:
    """The kept verdicts in one folder. Several processes may use it at the same time."""

    def __init__(self, folder: Path, size_bytes_max: int) -> None:
        self._folder = folder
        self._size_bytes_max = size_bytes_max

    def keep(
        self,
        *,
        at_ms: int,
        criteria: Sequence[Criterion],
        promise: Promise,
        verdict: Verdict,
        snapshot: Snapshot,
        beside: Snapshot,
        equipment: Equipment | None = None,
    ) -> str:
        """Keep it; gives its id. Raises `OSError` where nothing can be written."""
        content = KeptFiles(self._folder / _CONTENT, self._size_bytes_max)
        content.keep(snapshot)
        content.keep(beside)
        record: JsonObject = {
            **_record(at_ms, criteria, promise, verdict),
            "files": entries_to_json(snapshot.entries),
            "beside": entries_to_json(beside.entries),
            **({"equipment": equipment.to_json()} if equipment else {}),
        }
        identity = verdict_id(record)
        _write(self._folder / f"{identity}.json", record)
        content.tidy(self._listings())
        return identity

    def find(self, name: str) -> KeptVerdict:
        """The verdict with this id, or whose id alone begins so. Raises `Refused("verdict_unknown")`."""
        paths = [
            path
            for path in self._folder.glob("*.json")
            if name and path.name != _DISTRUSTED and path.stem.startswith(name)
        ]
        if len(paths) != 1:
            why = "no verdict is kept under" if not paths else "more than one verdict begins with"
            raise Refused("verdict_unknown", f"{why} {name[:80]!r}")
        record = json.loads(paths[0].read_bytes())
        if verdict_id(record) != paths[0].stem:
            raise Broken(f"the kept verdict {paths[0].stem} is not what was kept")
        return _kept(paths[0].stem, record)

    def restore(self, kept: KeptVerdict, folder: Path) -> tuple[Snapshot, Snapshot]:
        """The work, and what stood beside the spec, laid out below `folder`."""
        content = KeptFiles(self._folder / _CONTENT, self._size_bytes_max)
        return content.restore(kept.files, folder / "work"), content.restore(kept.beside, folder / "beside")

    def forget(self, before_ms: int, *, dry: bool = False) -> tuple[tuple[str, ...], int]:
        """Remove the verdicts of before that instant, and the content that no other needs; their ids, and its bytes.

        Those that show why a check is distrusted stay. A record goes before its content. `dry`: nothing goes.
        """
        spared, gone = set(self.distrusted().values()), list[Path]()
        going, needed = dict[str, int](), set[str]()
        for path in self._newest():
            record = json.loads(path.read_bytes())
            entries = entries_from_json(record["files"]) + entries_from_json(record["beside"])
            if record["at_ms"] < before_ms and path.stem not in spared:
                gone.append(path)
                going |= {entry.digest: entry.size_bytes for entry in entries}
            else:
                needed |= {entry.digest for entry in entries}
        alone = {digest: size_bytes for digest, size_bytes in going.items() if digest not in needed}
        if gone and not dry:
            for path in gone:
                path.unlink(missing_ok=True)
            KeptFiles(self._folder / _CONTENT, self._size_bytes_max).forget(alone)
        return tuple(path.stem for path in gone), sum(alone.values())

    def distrusted(self) -> Mapping[str, str]:
        """The `trust_key`s and `work_key`s of checks that disagreed with themselves, and the verdicts that show it."""
        try:
            found = json.loads((self._folder / _DISTRUSTED).read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise Broken(f"the list of distrusted checks cannot be read: {error}") from None
        return {str(key): str(value) for key, value in found.items()}

    def distrust(self, key: str, identity: str) -> None:
        """From now on the check of this `trust_key`, or over this work alone, decides nothing alone."""
        _write(self._folder / _DISTRUSTED, {**self.distrusted(), key: identity})

    def others(self, kept: KeptVerdict) -> Iterator[KeptVerdict]:
        """Verdicts on what other submitters handed in, newest first; those that cannot be read are passed over."""
        for path in self._newest():
            with contextlib.suppress(Broken, Refused, FileNotFoundError):
                other = self.find(path.stem)
                if other.promise.origin != kept.promise.origin:
                    yield other

    def _newest(self) -> list[Path]:
        paths = [path for path in self._folder.glob("*.json") if path.name != _DISTRUSTED]
        return sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True)

    def _listings(self) -> Iterator[Sequence[SnapshotEntry]]:
        """The listings of all verdicts, newest first."""
        for path in self._newest():
            record = json.loads(path.read_bytes())
            yield entries_from_json(record["files"]) + entries_from_json(record["beside"])


def _record(at_ms: int, criteria: Sequence[Criterion], promise: Promise, verdict: Verdict) -> dict[str, JsonValue]:
    return {
        "format": FORMAT,
        "at_ms": at_ms,
        "promise": {"title": promise.title, "text": promise.text, "origin": promise.origin},
        "criteria": [criterion_to_json(criterion) for criterion in criteria],
        "criteria_digest": criteria_digest(criteria),
        "seed": seed_of(criteria, verdict.snapshot),
        "limits": {one.id: to_json(read_limits(one.check.limits)[0]) for one in criteria if one.check is not None},
        "verdict": verdict.answer.value,
        "contradiction": verdict.contradiction,
        "flags": list(verdict.flags),
        "answers": [to_json(one) for one in verdict.criteria],
        "check_versions": dict(verdict.check_versions),
        "sandbox": verdict.sandbox,
        "snapshot": verdict.snapshot,
    }


def _kept(identity: str, record: dict[str, Any]) -> KeptVerdict:
    if record.get("format") != FORMAT:
        raise Refused("verdict_format", f"the verdict {identity} was kept by another version of earnest")
    reader = NodeReader()
    criteria = read_criteria(reader, [node_of(one) for one in record["criteria"]], no_check_faults)
    if reader.faults or criteria_digest(criteria) != record["criteria_digest"]:
        raise Broken(f"the criteria of the kept verdict {identity} cannot be read")
    what = f"the kept verdict {identity}"
    return KeptVerdict(
        id=identity,
        at_ms=record["at_ms"],
        criteria=criteria,
        promise=from_json(Promise, record["promise"], what),
        answers=from_json(tuple[CriterionVerdict, ...], record["answers"], what),
        sandbox=record["sandbox"],
        snapshot=record["snapshot"],
        files=entries_from_json(record["files"]),
        beside=entries_from_json(record["beside"]),
        equipment=Equipment.from_json(record.get("equipment")),
    )


def _write(path: Path, value: JsonObject) -> None:
    handle, half = tempfile.mkstemp(dir=path.parent, prefix=".")
    with os.fdopen(handle, "wb") as file:
        file.write(canonical_bytes(value))
    Path(half).replace(path)
