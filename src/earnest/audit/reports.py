"""The auditor's periodic reports, kept beside its log for the operator: one JSON object a line."""

import json
import os
from pathlib import Path
from typing import Final

from earnest.audit.report import AuditReport, report_json

REPORTS_NAME: Final = "reports.jsonl"
REPORTS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Then the file is put aside as `reports.jsonl.1`, in the place of the one before."""


def keep_report(log_path: Path, report: AuditReport) -> None:
    """Append a report (mode 0600). Raises `OSError`."""
    path = log_path.with_name(REPORTS_NAME)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(f"{json.dumps(report_json(report))}\n".encode())
        is_full = file.tell() > REPORTS_BYTES_MAX
    if is_full:
        path.replace(path.with_name(f"{REPORTS_NAME}.1"))


def has_findings(report: AuditReport) -> bool:
    """True where somebody should hear of it without asking."""
    return bool(report.boundary_violations or report.drift_alerts or report.anomalies or report.unlisted_findings)
