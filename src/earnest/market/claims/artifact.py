"""Files in the store of artifacts, and who brought them."""

from dataclasses import dataclass


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
