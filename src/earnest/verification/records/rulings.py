"""Rulings on a judge's word that a criterion is met, by the records: Law 0, in code.

It does if nothing in the work speaks against it, at least one reference proves something, and what is proven covers
what the criterion names. Each gate only takes away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.instants import HOUR_MS, rfc3339
from earnest.foundation.text import printable
from earnest.verification.plugin import Findings
from earnest.verification.records.demands import DATE, Demand, demand_of, is_named, is_program, paths_in
from earnest.verification.records.evidence import WorkRecords, against_file, call_name, mentions
from earnest.verification.records.proofs import Proof, proof_of

_ZONES_MS: Final = (-12 * HOUR_MS, 0, 14 * HOUR_MS)
OBJECTIONS_SHOWN: Final = 3
QUOTE_CHARACTERS_KEPT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A reference: the name of a call, and what is quoted from its stdout or from a file that it changed."""

    call: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOpinion:
    """What a judge says of one criterion."""

    criterion: Criterion
    met: bool
    citations: tuple[Citation, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRuling:
    """What an opinion comes to, and the calls that tell why: those referred to or about what is named, or else all.

    `measured`: it rests on what the judge measured itself.
    """

    findings: Findings
    calls: tuple[ToolRecord, ...]
    measured: bool = False


def ruled(opinion: JudgeOpinion, records: WorkRecords) -> RecordRuling:
    """What an opinion is worth. A judge's no is believed, its yes has to be shown."""
    demand = demand_of(opinion.criterion)
    cited = {at for citation in opinion.citations if (at := records.number(citation.call)) is not None}
    about = {at for at, call in enumerate(records.calls) if any(mentions(call, name) for name in demand.paths)}
    calls = tuple(records.calls[at] for at in sorted(cited | about)) or records.calls
    reason = printable(opinion.reason)
    if not opinion.met:
        return RecordRuling(findings=Findings(passed=False, reason=f"the judge finds: {reason}"), calls=calls)
    shown = [proof_of(citation.call, citation.quote, demand, records) for citation in opinion.citations]
    proofs = [one for one in shown if isinstance(one, Proof)]
    objections = "; ".join([one for one in shown if isinstance(one, str)][:OBJECTIONS_SHOWN])
    against = (
        _against_what_failed([records.calls[at] for at in sorted(cited)])
        or _against_the_work(demand, records)
        or ("" if proofs else objections or "the judge refers to nothing that was recorded")
        or _uncovered(demand, records, proofs)
        or _undone(demand, records, proofs)
        or _misdated(demand, proofs)
        or _unmeasured(demand, records, proofs)
    )
    findings = Findings(
        passed=not against,
        reason=printable(against) or f"the records show it: {reason}",
        evidence=tuple(
            f"{proof.call} {proof.record.call_digest}: {printable(proof.quote[:QUOTE_CHARACTERS_KEPT])}"
            for proof in proofs
        ),
    )
    return RecordRuling(findings=findings, calls=calls, measured=any(proof.at is None for proof in proofs))


def must_be_measured(criterion: Criterion, records: WorkRecords) -> bool:
    """True if a yes to it counts only where the judge measured."""
    return _is_measurable(demand_of(criterion), records)


def _against_what_failed(cited: Sequence[ToolRecord]) -> str:
    failed = next((record for record in cited if not (record.ok or record.found_nothing)), None)
    if failed is None:
        return ""
    why = failed.failure.message if failed.failure else "no reason is recorded"
    return f"a call that is to show it has failed: {failed.tool} {failed.target[:200]!a}: {why}"


def _against_the_work(demand: Demand, records: WorkRecords) -> str:
    """What the criterion names must have been changed, last by a call that succeeded, unless it can only be read.

    Beside something that was changed, what other work of the run has left needs only be read.
    """
    has_changed = any(records.last_change(name, or_mode=demand.mode) for name in demand.paths)
    for name in demand.paths:
        if records.is_input(name) or (has_changed and records.is_former(name)):
            continue
        last = records.last_change(name, or_mode=demand.mode)
        if last is None:
            if demand.answers and not demand.acts:
                continue
            return f"no call of this work changed {name}"
        at, change = last
        if not records.calls[at].ok:
            return f"{name} is what a call left behind that failed ({call_name(at)})"
        if change.kind is EntryKind.FILE and (fault := against_file(records.calls[at], change.path)):
            return f"{name} is what {call_name(at)} left behind: {fault}"
        if change.kind is EntryKind.GONE and not demand.acts:
            return f"{name} is no longer there"
        if change.kind is EntryKind.FILE and change.size_bytes == 0 and not demand.empty:
            return f"{name} is empty"
    return ""


def _uncovered(demand: Demand, records: WorkRecords, proofs: Sequence[Proof]) -> str:
    """Every path that is named must be one that a reference is about; an input, one that any call used."""
    used = [record for record in records.calls if record.ok or record.found_nothing]
    for name in demand.paths:
        about = used if records.is_input(name) or records.is_former(name) else [proof.record for proof in proofs]
        if not any(mentions(record, name) for record in about):
            return f"nothing that is referred to shows {name}"
    return ""


def _undone(demand: Demand, records: WorkRecords, proofs: Sequence[Proof]) -> str:
    """Where something must have been done to files no name is given of, a look at what is there is no proof."""
    if not demand.acts or demand.answers or demand.paths:
        return ""
    made = {path for record in records.calls if record.ok for path in _changed(record)}
    done = any(proof.path or _changed(proof.record) for proof in proofs)
    shown = (name for proof in proofs for name in paths_in(proof.quote))
    shown_made = any(is_named(one, name) for name in shown for one in made)
    return "" if done or shown_made else "no call is shown that did it"


def _changed(record: ToolRecord) -> list[str]:
    return [
        one.path for one in record.changed if one.kind is not EntryKind.FILE or (one.size_bytes and not one.is_same)
    ]


def _unmeasured(demand: Demand, records: WorkRecords, proofs: Sequence[Proof]) -> str:
    """A yes to what could be measured stands on a measurement of the judge's own."""
    if not _is_measurable(demand, records) or any(proof.at is None for proof in proofs):
        return ""
    return "it could be measured, and the judge has not: no command of its own shows it"


def _is_measurable(demand: Demand, records: WorkRecords) -> bool:
    """True if commands can be run, and it is no opinion: it is to be verified, or says, whatever the planner calls it,

    that something works, is about a program that was changed, or compares what was made with what is given.
    """
    if records.measured is None:
        return False
    given = [name for name in demand.paths if records.is_input(name) or records.is_former(name)]
    made = [name for name in demand.paths if records.last_change(name)]
    return not demand.plausible or demand.measures or any(map(is_program, made)) or bool(given and made)


def _misdated(demand: Demand, proofs: Sequence[Proof]) -> str:
    dates = {date for proof in proofs for date in DATE.findall(proof.source)}
    missing = next((date for date in demand.dates if date not in dates), None)
    if missing is not None:
        return f"what is referred to does not show the date {missing}"
    if demand.today and dates:
        starts = [proof.record.started_at_ms for proof in proofs]
        days = {rfc3339(start_ms + zone_ms)[:10] for start_ms in starts for zone_ms in _ZONES_MS}
        if not days & dates:
            return "what is referred to bears another date than today's"
    return ""
