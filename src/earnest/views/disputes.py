"""Disputes as their two sides and the arbiters see them."""

import json

from earnest.client import payloads_disputes as shown
from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.disputes.dispute import STATEMENTS_MAX, Dispute, Statement, allowed_events
from earnest.market.rows import CLAIMS, DISPUTES, STATEMENTS


def show_dispute(reader: BooksReader, dispute_id: str, viewer: str, *, sees_all: bool) -> shown.Dispute:
    """A case with all that was said in it. Raises `Refused("not_found")`, also for who is no side of it."""
    dispute = DISPUTES.get(reader, dispute_id)
    if dispute is None or not (dispute.role_of(viewer) or sees_all):
        raise Refused("not_found", f"there is no dispute {dispute_id[:80]!r}, or you may not know of it")
    claim = CLAIMS.get(reader, dispute.claim_id)
    statements = STATEMENTS.where(reader, "dispute_id = ? ORDER BY number", (dispute.id,))
    return {
        **dispute_json(dispute, viewer),
        "seller": None if claim is None else claim.seller,
        "last_verdict": (claim.last_verdict or None) if claim is not None else None,
        "reason": dispute.reason,
        "criteria": json.loads(dispute.criteria),
        "statements": [_statement(one, dispute) for one in statements],
        "ruling": json.loads(dispute.ruling) if dispute.ruling else None,
    }


def unread_by(reader: BooksReader, dispute_id: str, viewer: str) -> int:
    """How much of a case a side has not read; 0 for whoever is none."""
    dispute = DISPUTES.get(reader, dispute_id)
    return 0 if dispute is None else _unread(dispute, viewer)


def list_disputes(
    reader: BooksReader, viewer: str, after: str, limit: int, *, sees_all: bool, waiting: bool
) -> list[shown.DisputeSummary]:
    """The cases of a side, or for arbiters all, the newest first. `waiting`: only those that an arbiter is to rule."""
    conditions = ["id < ?"]
    parameters: list[SqlValue] = [after or "~"]
    if not sees_all:
        conditions.append("(raiser = ? OR respondent = ?)")
        parameters += [viewer, viewer]
    if waiting:
        conditions.append("awaiting = 'arbiter'")
    where = f"{' AND '.join(conditions)} ORDER BY id DESC LIMIT ?"
    found = DISPUTES.where(reader, where, (*parameters, limit))
    return [dispute_json(one, viewer) for one in found]


def dispute_json(dispute: Dispute, viewer: str) -> shown.DisputeSummary:
    """A case without what was said in it."""
    return {
        "dispute_id": dispute.id,
        "claim_id": dispute.claim_id,
        "revision": dispute.revision,
        "state": dispute.state.value,
        "allowed_events": allowed_events(dispute.state),
        "raiser": dispute.raiser,
        "respondent": dispute.respondent,
        "role": dispute.role_of(viewer) or None,
        "currency": dispute.currency,
        "amount_micro": dispute.amount_micro,
        "stake_micro": dispute.stake_micro,
        "awaiting": dispute.awaiting or None,
        "unread": _unread(dispute, viewer),
        "statements_left": {
            "raiser": max(0, STATEMENTS_MAX - dispute.raiser_statements),
            "respondent": max(0, STATEMENTS_MAX - dispute.respondent_statements),
        },
        "opened_at": rfc3339_s(dispute.opened_at_ms),
        "stake_by": rfc3339_s(dispute.stake_by_ms),
        "respond_by": rfc3339_s(dispute.respond_by_ms),
        "decided_at_latest": rfc3339_s(dispute.hard_limit_ms),
        "last_message_at": rfc3339_s(dispute.last_message_at_ms),
        "ruled_at": rfc3339_s(dispute.ruled_at_ms),
        "appeal_ends_at": rfc3339_s(dispute.appeal_ends_at_ms),
        "appealed_by": dispute.appealed_by,
        "closed_at": rfc3339_s(dispute.closed_at_ms),
    }


def _statement(statement: Statement, dispute: Dispute) -> shown.Statement:
    return {
        "number": statement.number,
        "role": "respondent" if statement.author == dispute.respondent else "raiser",
        "text": statement.text,
        "evidence": json.loads(statement.evidence),
        "said_at": rfc3339_s(statement.said_at_ms),
    }


def _unread(dispute: Dispute, viewer: str) -> int:
    return {"raiser": dispute.raiser_unread, "respondent": dispute.respondent_unread}.get(dispute.role_of(viewer), 0)
