"""The auditor: it taps the bus, writes its log and reports, and influences nothing. (seed R6)"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from earnest.audit.boundary import violation_of
from earnest.audit.event import LogEvent, LogPosition, Note, Scalar, plain
from earnest.audit.fields import select_fields
from earnest.audit.log import AuditLog
from earnest.audit.report import AuditReport, AuditSettings, Trigger, report_of
from earnest.audit.snapshot import LogSnapshot, keep_snapshot, take_snapshot
from earnest.audit.statistics import PLACE, fold, knows_cause
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.bus.wire import HeardEnvelope
from earnest.effects.ground.clock import Clock
from earnest.foundation.canonical import JsonObject, digest_of
from earnest.foundation.errors import Unavailable

UNNAMED_KIND: Final = "?"
"""Stands for a class whose name is no identifier, which no message of ours has."""

_log: Final = logging.getLogger(__name__)


class Auditor:
    """Sees every message from its construction to `close`. Its reports go to `on_report` and never to the bus.

    `encode` gives a payload's JSON form, `senders` says for each kind who may send it. Nothing that goes wrong here
    reaches a publisher: a message that cannot be logged is counted, and noted in the log as soon as that is possible.
    """

    def __init__(
        self,
        *,
        bus: Bus,
        log: AuditLog,
        clock: Clock,
        encode: Callable[[object], JsonObject],
        senders: Mapping[str, frozenset[str]],
        on_report: Callable[[AuditReport], None],
        settings: AuditSettings | None = None,
    ) -> None:
        self._bus = bus
        self._log = log
        self._clock = clock
        self._encode = encode
        self._senders = senders
        self._on_report = on_report
        self._settings = settings or AuditSettings()
        with log.held(clock.now_ms()):
            self._statistics = take_snapshot(log.path).statistics
            self._kept = log.end
        self._unlogged = 0
        self._dropped = bus.dropped
        self._end_tap = bus.tap("auditor", self._see)

    @property
    def place(self) -> tuple[int, str]:
        """Of the last message that came from a stream its place there and its id; 0 before the first."""
        return self._statistics.place, self._statistics.at_place

    def report(self) -> AuditReport:
        """A report on demand. The window goes on."""
        self._keep()
        return self._report(Trigger.ON_DEMAND)

    def durable(self) -> LogPosition | None:
        """Where the log ends, all of it on the disk; None if it is empty or the disk does not take it."""
        end = self._log.end
        return end if end.lines and self._sync() else None

    async def watch(self) -> None:
        """Bring the log to the disk and report, each in its period, until cancelled."""
        while True:
            await self._clock.sleep_ms(self._settings.sync_period_ms)
            self._keep()
            if self._is_due():
                self._report_periodically()

    def close(self) -> None:
        """End the tap, keep everything and close the log. Closing twice is harmless."""
        self._end_tap()
        if not self._log.is_closed:
            self._keep()
            self._log.close()

    def _see(self, envelope: Envelope) -> None:
        try:
            with self._log.held(self._clock.now_ms()) as added:
                self._count(added)
                self._note_unlogged()
                event = self._event_of(envelope)
                self._write(event)
        except Exception as error:
            self._unlogged += 1
            if self._unlogged & (self._unlogged - 1) == 0:  # the 1st, 2nd, 4th …
                fault = None if isinstance(error, Unavailable) else error
                _log.error(  # a full disk is no fault of ours, and needs no traceback
                    "%d messages could not be written to the audit log: %s", self._unlogged, error, exc_info=fault
                )
        else:
            if event.kind == "FinalResult":
                self._sync()

    def _is_due(self) -> bool:
        """True if the window is over: a process that reports ends it for all."""
        start_ms = self._statistics.window.start_ms  # 0 before the first line
        # A clock that was set back behind the window's start must not end the reports until it has caught up.
        return bool(start_ms) and not 0 <= self._clock.now_ms() - start_ms < self._settings.report_period_ms

    def _event_of(self, envelope: Envelope) -> LogEvent:
        kind = envelope.kind if envelope.kind.isidentifier() else UNNAMED_KIND
        run_id, message_id, sender = plain(envelope.run_id), plain(envelope.id), plain(envelope.sender)
        cause = None if envelope.causation_id is None else plain(envelope.causation_id)
        run = self._statistics.runs.get(run_id)
        seen = run is not None and message_id in run.message_ids
        has_forgotten = run is not None and not run.ids_complete
        known, senders = knows_cause(self._statistics, run_id, cause), self._senders
        violation = None if seen else violation_of(kind=kind, sender=sender, cause_known=known, senders=senders)
        digest, fields = self._read_payload(kind, envelope)
        if isinstance(envelope, HeardEnvelope):
            fields[PLACE] = envelope.place
        return LogEvent(
            self._log.next_seq,
            envelope.at_ms,
            run_id,
            message_id,
            sender,
            plain(kind),
            cause,
            digest,
            fields,
            violation or "",
            seen or (envelope.replayed and has_forgotten),
        )

    def _read_payload(self, kind: str, envelope: Envelope) -> tuple[str, dict[str, Scalar]]:
        """Digest and fields; both empty if the payload cannot be encoded, which the statistics take as an anomaly."""
        try:
            encoded = envelope.json(self._encode)
            return digest_of(encoded), select_fields(kind, encoded)
        except Exception as error:
            _log.warning("a payload of kind %s cannot be encoded: %s", kind, error)
            return "", {}

    def _count(self, added: Iterable[LogEvent]) -> None:
        """Lines of other writers."""
        for event in added:
            fold(self._statistics, event)

    def _write(self, event: LogEvent) -> None:
        self._log.append(event)
        fold(self._statistics, event)

    def _note(self, kind: Note, fields: dict[str, int]) -> None:
        fold(self._statistics, self._log.note(kind, self._clock.now_ms(), fields))

    def _note_unlogged(self) -> None:
        """Say in the log what it has missed, before anything else. Raises `Unavailable`."""
        if self._unlogged:
            self._note(Note.UNLOGGED, {"count": self._unlogged})
            self._unlogged = 0

    def _note_dropped(self) -> None:
        """Say in the log what observers of the bus have missed. Raises `Unavailable`."""
        dropped = self._bus.dropped - self._dropped
        if dropped > 0:
            self._note(Note.DROPPED, {"count": dropped})
            self._dropped += dropped

    def _keep(self) -> None:
        """Note losses; if there are new lines, bring them to the disk and keep the statistics."""
        try:
            with self._log.held(self._clock.now_ms()) as added:
                self._count(added)
                self._note_unlogged()
                self._note_dropped()
        except Unavailable as error:
            _log.warning("%s", error)
        if self._log.end != self._kept:
            self._sync()
            keep_snapshot(self._log.path, LogSnapshot(end=self._log.end, statistics=self._statistics))
            self._kept = self._log.end

    def _sync(self) -> bool:
        try:
            self._log.sync()
        except Unavailable as error:
            _log.warning("%s", error)
            return False
        return True

    def _report(self, trigger: Trigger) -> AuditReport:
        return report_of(
            self._statistics, self._log.end, trigger=trigger, now_ms=self._clock.now_ms(), settings=self._settings
        )

    def _report_periodically(self) -> None:
        try:
            with self._log.held(self._clock.now_ms()) as added:
                self._count(added)
                if not self._is_due():
                    return
                report = self._report(Trigger.PERIODIC)
                self._note(Note.WINDOW, {"silence_ms": self._settings.silence_ms})
            self._on_report(report)
        except Exception:
            _log.exception("a periodic audit report was not delivered")
