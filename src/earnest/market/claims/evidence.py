"""What was handed in for a claim, and the files in the store of artifacts."""

from dataclasses import dataclass
from typing import Final

BY_POSTER: Final = "by_poster"
"""The member of a verdict that is there, and true, where the poster's files or probes left nothing to judge by."""
MEASURED: Final = "measured"
"""The member of a verdict that is for the operator alone: by criterion, what a probe measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One revision of a claim's evidence. `id` is `evd_…`; `manifest` is a JSON list of items, `root` their digest.

    `verdict` (JSON, the form of `earnest verify --json`) is empty until one was given; `verdict_id` is `ver_…`.
    """

    id: str
    claim_id: str
    revision: int
    manifest: str
    root: str
    submitted_at_ms: int
    by_key: str
    verdict: str = ""
    verdict_id: str | None = None
    judged_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One content of one owner. `id` is `<account>/<sha256:…>`; the bytes lie once, under their digest.

    `brought_bytes`: what the owner had brought in all, this included.
    """

    id: str
    account_id: str
    sha256: str
    size_bytes: int
    brought_bytes: int
    media_type: str
    kept_at_ms: int


def artifact_id(account_id: str, sha256: str) -> str:
    """The id of one account's content."""
    return f"{account_id}/{sha256}"
