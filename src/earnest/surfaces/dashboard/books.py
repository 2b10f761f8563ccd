"""The books: money and whether it adds up, what the auditor saw, what is remembered."""

from threading import Lock
from typing import Any, Final

from earnest.audit.files import has_log
from earnest.audit.reading import newest_lines, summary
from earnest.audit.report import AuditSettings, report_json
from earnest.audit.snapshot import read_report
from earnest.foundation.errors import EarnestError, Refused
from earnest.ledger.transfer import owner_of
from earnest.memory.megram import Tag
from earnest.surfaces.charts import table_csv
from earnest.surfaces.dashboard.look import Look, Remembered, Visitor
from earnest.surfaces.dashboard.rendering import ENVIRONMENT
from earnest.views import overview
from earnest.views.agents_public import find_agent
from earnest.views.receipts import newest_checkpoint
from earnest.views.wallet import list_accounts, list_entries, show_wallet, solvency

ENTRIES_MAX: Final = 50
ACCOUNTS_PAGE: Final = 50
LINES_MAX: Final = 100
MEGRAMS_MAX: Final = 1_000
HISTORY_MAX: Final = 50
_ONE_READER: Final = Lock()
"""A process opens a store of LMDB once at a time."""


def show_ledger(look: Look) -> tuple[str, dict[str, Any]]:
    """Solvency for everybody; sums, accounts and anybody's entries for those who see all; else one's own."""
    given: dict[str, Any] = {
        "title": "Ledger",
        "solvency": solvency(look.reader, look.now_ms),
        "sums": overview.sums(look.reader) if look.sees_all else [],
        "accounts": [],
        "wallet": None,
        "entries": [],
        "next_cursor": "",
        "of": "",
    }
    whose = look.my_id if look.visitor in {Visitor.AGENT, Visitor.OPERATOR} else ""
    if look.sees_all:
        given |= _accounts(look)
        if handle := look.query.get("of", "")[:40]:
            whose, given["of"] = find_agent(look.reader, handle).id, handle
    if whose:
        currencies = tuple(look.terms.currencies)
        found = list_entries(look.reader, whose, currencies, look.query.get("cursor", "")[:200], ENTRIES_MAX)
        given["wallet"] = show_wallet(look.reader, whose, look.terms)
        given["entries"], given["next_cursor"] = found
    return "ledger.html", given


def _accounts(look: Look) -> dict[str, Any]:
    """All accounts of the ledger, page by page, with the handles of those whose they are."""
    found = list_accounts(look.reader, look.query.get("after", "")[:120], ACCOUNTS_PAGE + 1)
    shown = found[:ACCOUNTS_PAGE]
    return {
        "accounts": [(owner_of(one.id), one.id.split(":")[1], one) for one in shown],
        "more": {"after": shown[-1].id if len(found) > ACCOUNTS_PAGE else ""},
        "owners": overview.handles(look.reader, [owner_of(one.id) for one in shown]),
    }


def show_audit(look: Look) -> tuple[str, dict[str, Any]]:
    """The checkpoint for everybody; the auditor's report and the end of its log for those who see all."""
    given: dict[str, Any] = {
        "title": "Audit",
        "checkpoint": newest_checkpoint(look.reader),
        "report": None,
        "lines": [],
    }
    if look.sees_all and look.place is not None and has_log(look.place.audit_log):
        log = look.place.audit_log
        given["report"] = report_json(read_report(log, now_ms=look.now_ms, settings=AuditSettings()))
        given["lines"] = [_line(line) for line in newest_lines(log, LINES_MAX)][::-1]
    return "audit.html", given


def show_memory(look: Look) -> tuple[str, dict[str, Any]]:
    """The pyramid, every tag pair in the plane of attention and decision, and one pair's history."""
    look.need_all()
    nothing: dict[str, Any] = {"title": "Memory", "counts": {}, "points": [], "history": [], "pair": None}
    if look.place is None:
        return "memory.html", nothing
    try:
        with _ONE_READER, look.place.memory() as memory:
            return "memory.html", {**nothing, **_memory(look, memory)}
    except Refused:
        return "memory.html", nothing


def plane(look: Look, form: str) -> str:
    """The plane of attention and decision as a file, `svg` or `csv`. Raises `Refused` as the page does, `not_found`."""
    _, given = show_memory(look)
    if not given["counts"]:
        raise Refused("not_found", "nothing has been remembered here yet")
    if form == "svg":
        return ENVIRONMENT.get_template("plane.svg").render(**given)
    columns = ("space", "entity", "advice", "attention", "decision")
    rows = [
        (one["tag"].space, one["tag"].entity, one["action"], one["attention"], one["decision"])
        for one in given["points"]
    ]
    return table_csv(columns, rows)


def _memory(look: Look, memory: Remembered) -> dict[str, Any]:
    pairs = dict.fromkeys((one.space, one.entity) for one in memory.entries(limit=MEGRAMS_MAX))
    points = []
    for space, entity in pairs:
        found = memory.query_mk(space, entity, look.now_ms)
        points.append(
            {
                "tag": Tag(space=space, entity=entity),
                "attention": found.attention,
                "decision": found.decision,
                "action": str(found.action),
            }
        )
    pair = (look.query.get("space", ""), look.query.get("entity", ""))
    return {
        "counts": {str(level): count for level, count in memory.counts().items()},
        "points": sorted(points, key=lambda one: -one["attention"]),
        "pair": pair if pair in pairs else None,
        "history": memory.entries(*pair, limit=HISTORY_MAX) if pair in pairs else [],
        "px": lambda attention: round(30 + 300 * min(1.0, attention)),
        "py": lambda decision: round(105 - 95 * max(-1.0, min(1.0, decision))),
    }


def _line(line: bytes) -> str:
    try:
        return summary(line)
    except (ValueError, KeyError, EarnestError) as error:
        return f"DAMAGED ({error})"
