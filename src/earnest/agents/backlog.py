"""What a proposer would have done: a library of plain files, and what was found on the web, each posted so often."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from earnest.agents.book import JsonLinesBook
from earnest.agents.job_files import Offered, offered
from earnest.agents.state import BacklogItem
from earnest.contracts.node import plain
from earnest.contracts.spec import FORMAT, TITLE_CHARACTERS_MAX, VerificationSpec, parse_spec, spec_of_json
from earnest.contracts.yaml_source import read_yaml
from earnest.foundation.canonical import JsonValue, digest_bytes
from earnest.foundation.errors import Refused

REDOS_MAX: Final = 3
PLAYBOOK: Final = "earnest-playbook-v1"
POSTED: Final = "posted"
UNPOSTABLE: Final = "unpostable"
FOUND: Final = "found"
FAULTS: Final = frozenset({"lint_failed", "unknown_check", "validation", "too_large"})
"""Refusals that stay as long as the file stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlogged:
    """One entry. `path` is a specification, or a playbook whose criteria become the job's; `times`: how often."""

    name: str
    path: Path
    category: str
    amount_micro: int
    currency: str = "AID"
    hand_in: tuple[str, ...] = ()
    work_s: int = 86_400
    times: int = 1

    def spec(self) -> VerificationSpec:
        """What it asks for. Raises `Faulty`, `OSError`."""
        data = self.path.read_bytes()
        document = plain(read_yaml(data, str(self.path)).json())
        if not isinstance(document, dict) or document.get("format") != PLAYBOOK:
            return parse_spec(data, str(self.path))
        intent = str(document["intent"])
        criteria = document.get("criteria") or [one for each in document["subtasks"] for one in each["criteria"]]
        told = {"format": FORMAT, "title": intent[:TITLE_CHARACTERS_MAX], "text": intent}
        return spec_of_json({**told, "criteria": _renamed(criteria)}, str(self.path))

    def offer(self) -> Offered:
        """The job that it is. Raises `Faulty`, `OSError`, `Refused("too_large")`."""
        return offered(self.spec(), self.path.absolute().parent, self.hand_in)


class Backlog:
    """The entries in their order, those that were found after them, and what became of them, by the agent's book."""

    def __init__(self, entries: Sequence[Backlogged], book: JsonLinesBook) -> None:
        self._given = {entry.name: entry for entry in entries}
        self._book = book

    @property
    def _entries(self) -> dict[str, Backlogged]:
        found = (_found(row["entry"]) for row in self._book.rows(FOUND))
        return self._given | {entry.name: entry for entry in found}

    def entry(self, name: str) -> Backlogged:
        """The entry of that name. Raises `Refused("backlog_entry_unknown")`."""
        found = self._entries.get(name)
        if found is None:
            raise Refused("backlog_entry_unknown", f"the backlog has no entry {name[:80]!r}")
        return found

    def add_found(self, entry: Backlogged, url: str) -> None:
        """An entry more, made of the page `url`."""
        members = {**asdict(entry), "path": str(entry.path)}
        self._book.add(FOUND, f"{FOUND}/{url}", url=url, entry=members)

    def pages(self) -> set[str]:
        """The pages that entries were made of."""
        return {row["url"] for row in self._book.rows(FOUND)}

    def open(self, rejected: Sequence[str]) -> list[BacklogItem]:
        """What could be posted now: rejected jobs of mine once more, at most three times each, then what is new."""
        return [*self._redos(rejected), *self._news()]

    def note(self, name: str, job_id: str, redo_of: str) -> None:
        """An entry was posted."""
        self._book.add(POSTED, f"{POSTED}/{job_id}", entry=name, job_id=job_id, redo_of=redo_of)

    def set_aside(self, name: str, why: str) -> None:
        """An entry cannot be posted as it is. It is tried again once its file is another."""
        self._book.add(UNPOSTABLE, _aside(self._entries[name]), entry=name, text=why)

    def _news(self) -> Iterator[BacklogItem]:
        posted = [row["entry"] for row in self._book.rows(POSTED) if not row["redo_of"]]
        for entry in self._entries.values():
            if posted.count(entry.name) < entry.times and self._book.get(_aside(entry)) is None:
                yield _told(entry, "")

    def _redos(self, rejected: Sequence[str]) -> Iterator[BacklogItem]:
        rows = list(self._book.rows(POSTED))
        redone = [row["redo_of"] for row in rows if row["redo_of"]]
        first_of = {row["job_id"]: row["redo_of"] or row["job_id"] for row in rows}
        entry_of = {row["job_id"]: row["entry"] for row in rows}
        entries, newest = self._entries, dict[str, str]()
        for row in reversed(rows):
            newest[first_of[row["job_id"]]] = row["job_id"]
        for first, last in newest.items():
            entry = entries.get(entry_of[last])
            if last in rejected and entry is not None and redone.count(first) < REDOS_MAX:
                yield _told(entry, first)


def _found(members: dict[str, Any]) -> Backlogged:
    return Backlogged(**{**members, "path": Path(members["path"]), "hand_in": tuple(members["hand_in"])})


def _aside(entry: Backlogged) -> str:
    digest = digest_bytes(entry.path.read_bytes()) if entry.path.is_file() else "missing"
    return f"{UNPOSTABLE}/{entry.name}/{digest}"


def _told(entry: Backlogged, redo_of: str) -> BacklogItem:
    return BacklogItem(
        name=entry.name,
        title=entry.path.stem,
        category=entry.category,
        amount_micro=entry.amount_micro,
        currency=entry.currency,
        redo_of=redo_of,
    )


def _renamed(criteria: list[dict[str, JsonValue]]) -> list[JsonValue]:
    """Each under an id of its own: those of subtasks begin anew in each."""
    return [{**one, "id": f"C{number}"} for number, one in enumerate(criteria, 1)]
