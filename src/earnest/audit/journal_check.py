"""Whether the journal and the auditor's log are what they were, each held against what the other knows of it.

How far they were found intact is noted, so that the next verification can go on from there.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from earnest.audit.event import GENESIS, LINE_BYTES_MAX, LogPosition, decode_line
from earnest.audit.files import has_log, name_of
from earnest.audit.reading import CheckedLine, has_position, heads_in, read_lines, unfinished
from earnest.audit.removal import REMOVED, removed_by
from earnest.audit.snapshot import SNAPSHOT_NAME, KeptSums, LogSnapshot
from earnest.effects.ground.durable import put_file
from earnest.effects.ground.storage.driver import DATABASE_ERROR
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import BooksReader, read_once
from earnest.effects.ground.storage.wal import wal_faults
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import EarnestError, Refused
from earnest.journal.heads import SEALED, Head, Seal, Witness, fact_of, seal_in, witness_in
from earnest.journal.verify import JournalFinding, JournalReport, What, verify_journal

UNREADABLE: Final[tuple[type[Exception], ...]] = (EarnestError, *DATABASE_ERROR)
FINDINGS_MAX: Final = 100
VERIFIED_FORMAT: Final = "earnest-verified-v1"
VERIFIED_BYTES_MAX: Final = 65_536
PASSING: Final = frozenset({"database_too_new", "database_too_old"})
"""Refusals that are about the program, not the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A head under which every fact was in order, and where the audit log ended, intact."""

    seal: Seal
    log: LogPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """What reading a whole log showed: `findings` say what is wrong, with the line; at most `FINDINGS_MAX`.

    `torn_bytes` of an unfinished last line, and lines after the last that is `vouched` for elsewhere, are no findings.
    """

    end: LogPosition
    vouched: int
    torn_bytes: int
    findings: tuple[str, ...]

    @property
    def intact(self) -> bool:
        """True if nothing is wrong with what can be verified."""
        return not self.findings


class KnownLine(NamedTuple):
    """A line that somebody else knows, and who."""

    lines: int
    head: str
    by: str
    removed: bool = False
    """By whom it was removed, with all lines before it."""


def read_verified(path: Path) -> Verified | None:
    """What was noted; None for nothing, or for what contradicts itself: then everything is verified."""
    try:
        with path.open("rb") as file:
            noted = json.loads(file.read(VERIFIED_BYTES_MAX))
        if noted["format"] == VERIFIED_FORMAT:
            return Verified(seal=seal_in(noted["seal"]), log=LogPosition(**noted["log"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return None


def note_verified(path: Path, verified: Verified) -> None:
    """Put it there. That nothing can be written is no fault: the next verification then reads more."""
    seal = fact_of(verified.seal, 0).body
    with suppress(OSError):
        put_file(path, canonical_bytes({"format": VERIFIED_FORMAT, "seal": seal, "log": asdict(verified.log)}))


def check_journal(books: Books, audit_log: Path, since: Verified | None = None) -> JournalReport:
    """Recompute the journal, or what came after `since`, and hold it against every head that the auditor has seen.

    Books that are gone, empty or unreadable where a log knows of them are a finding. Raises `Refused`: `no_database`
    where nothing knows of any, `database_too_new`, `database_too_old`.
    """
    is_told = since is not None and has_position(audit_log, since.log)
    after = since.log if since is not None and is_told else LogPosition()
    seen = heads_in(audit_log, after) if has_log(audit_log) else ()
    heads = [Head(size=size, root=bytes.fromhex(root)) for size, root in seen]
    faults = wal_faults(books) if isinstance(books, Path) else ()  # before anything opens them
    found = [JournalFinding(what=What.DAMAGED, first_seq=0, last_seq=0, detail=fault) for fault in faults]
    try:
        report = read_once(books, lambda reader: verify_journal(reader, heads, since.seal if since else None))
    except UNREADABLE as error:
        code = error.code if isinstance(error, Refused) else ""
        is_empty = isinstance(books, Path) and books.is_file() and books.stat().st_size == 0
        if (code == "no_database" and not heads) or (code in PASSING and not is_empty):
            raise
        found.append(JournalFinding(what=What.DAMAGED, first_seq=0, last_seq=0, detail=f"{books}: {error}"))
        report = verify_journal(None, heads)
    return replace(report, findings=(*found, *report.findings))


def check_audit_log(log: Path, books: Books, verified: Verified | None = None) -> AuditCheck:
    """Read the whole log, or what came after it was `verified`, and hold it against what others know of it: the journal
    and the kept statistics.

    Raises `Refused("audit_log_missing")` where nothing knows of any.
    """
    since = verified.log if verified else LogPosition()
    sums = KeptSums(log)
    known = sorted(_known(log, sums.kept, books, verified.seal.head.size if verified else 0))
    if not has_log(log):
        if not known:
            raise Refused("audit_log_missing", f"there is no audit log at {log}")
        last = known[-1]
        return AuditCheck(end=LogPosition(), vouched=0, torn_bytes=0, findings=(f"{log} is gone: {last.by}",))
    findings = list(_found_before(log, sums.kept, since, known))
    since = since if has_position(log, since) else LogPosition()
    end, vouched, is_whole = since, since.lines, not since.lines
    waiting = {lines: list(group) for lines, group in groupby(known, attrgetter("lines"))}
    for line in read_lines(log, since):
        found = [] if end.lines else list(_found_removed(log, line, known))
        end = line.end
        found += [f"{log} line {line.lines}: {line.fault}"] if line.fault else []
        for one in waiting.get(end.lines, ()):
            if one.head == end.head:
                vouched = one.lines
            else:
                found.append(f"{log} line {one.lines} is not the one that was there: {one.by}")
        findings += found[: FINDINGS_MAX - len(findings)]
        if is_whole:
            sums.take(line)
    if known and (known[-1].lines > end.lines or not end.lines):
        findings.append(f"{log} ends with line {end.lines}, lines after it were cut off: {known[-1].by}")
    torn_bytes, fault = _torn(log, end)
    findings += [fault] if fault else []
    if not findings and is_whole and sums.are_altered:
        findings.append(f"{log.with_name(SNAPSHOT_NAME)} is not what the log adds up to: delete it, it is made anew")
    return AuditCheck(end=end, vouched=vouched, torn_bytes=torn_bytes, findings=tuple(findings[:FINDINGS_MAX]))


def _found_before(log: Path, kept: LogSnapshot, since: LogPosition, known: list[KnownLine]) -> Iterator[str]:
    if broken := kept.statistics.broken:
        yield f"{log} was found broken when it was read before: {broken}"
    is_removed = any(one.removed and one.lines >= since.lines for one in known)
    if not has_position(log, since) and not is_removed:
        yield f"{log} line {since.lines}, which was verified before, is gone or changed"


def _found_removed(log: Path, first: CheckedLine, known: list[KnownLine]) -> Iterator[str]:
    before = first.lines - 1
    if before and not any(one.removed and (one.lines, one.head) == (before, first.prev) for one in known):
        yield f"{log} begins with line {first.lines}, and no fact says that those before it were removed"


def _known(log: Path, kept: LogSnapshot, books: Books, after_seq: int) -> Iterator[KnownLine]:
    """The lines that facts after `after_seq` and the kept statistics know; books that cannot be read know none."""
    end = kept.end
    if end.lines:
        yield KnownLine(end.lines, end.head, f"{log.with_name(SNAPSHOT_NAME)} counts {end.lines} lines")
    try:
        yield from read_once(books, partial(_witnesses, log=name_of(log), after_seq=after_seq))
    except UNREADABLE:
        return  # `earnest journal verify` says why


def _witnesses(reader: BooksReader, log: str, after_seq: int) -> list[KnownLine]:
    """What the heads say of this log; those that were sealed on other machines speak of others."""
    found: list[KnownLine] = []
    for fact in reader.facts(kind=SEALED, after_seq=after_seq):
        if not fact.is_intact:
            continue
        witness = witness_in(fact.body) or Witness(lines=0, head=GENESIS)
        if witness.log not in {"", log}:
            continue
        what = f"had {witness.lines} lines" if witness.lines else "was told of a head of the journal"
        found.append(KnownLine(witness.lines, witness.head, f"fact {fact.seq} holds that it {what}"))
    gone = reader.facts(kind=REMOVED, after_seq=after_seq)
    removals = ((fact.seq, removed_by(fact.body)) for fact in gone if fact.is_intact)
    found += [KnownLine(*end, f"fact {seq} holds that it was removed", removed=True) for seq, end in removals if end]
    return found


def _torn(log: Path, end: LogPosition) -> tuple[int, str]:
    """How much of an unfinished line there is after the last, and what is wrong with it, if something is."""
    rest = unfinished(log, end)
    if len(rest) >= LINE_BYTES_MAX:
        return len(rest), f"{log} line {end.lines + 1} is longer than any line"
    try:
        decode_line(rest[:-1])
    except ValueError:
        return len(rest), ""
    return len(rest), f"{log} line {end.lines + 1}: its end was changed"
