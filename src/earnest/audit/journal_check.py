"""Do the journal and the auditor's own record of it agree?"""

from pathlib import Path

from earnest.audit.log import heads_in
from earnest.effects.storage.reader import ReadPool
from earnest.journal.heads import Head
from earnest.journal.verify import JournalReport, verify_journal


def check_journal(books: ReadPool, audit_log: Path) -> JournalReport:
    """Recompute the whole journal and hold it against every head that the auditor has seen."""
    heads = (
        [Head(size=size, root=bytes.fromhex(root)) for size, root in heads_in(audit_log)] if audit_log.exists() else []
    )
    return books.read_sync(lambda reader: verify_journal(reader, heads))
