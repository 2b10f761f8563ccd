"""Check kind `outside`: a file of the user, outside the workspace, is as it should be.

The runtime looks where the file is, read-only; it decides for a user's own run alone.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.outside_file import CONTENT_BYTES_MAX, Sight
from earnest.verification.paths import read_sha256
from earnest.verification.plugin import ConfiguredCheck, Findings, Subject, looking

PATH_CHARACTERS_MAX: Final = 1_024
TEXTS_MAX: Final = 100
TEXT_CHARACTERS_MAX: Final = 1024 * 1024
_PATH: Final = re.compile(r"(~|/)[^\0-\x1f\x7f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    path: str
    exists: bool
    sha256: str
    contains: tuple[str, ...]


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Wanted:
    entries = reader.mapping(node, required=("path",), optional=("exists", "sha256", "contains"))
    path = reader.text(entries.get("path"), at_most=PATH_CHARACTERS_MAX)
    if path and not (_PATH.fullmatch(path) and (path == "~" or not path.startswith("~") or path[1] == "/")):
        reader.fault(entries["path"], f"{path!r} must be absolute or begin with ~/")
    if ".." in path.split("/"):
        reader.fault(entries["path"], f"{path!r} must have no part '..'")
    sha256 = read_sha256(reader, entries.get("sha256"))
    contains = reader.texts(entries.get("contains"), at_most=TEXTS_MAX, characters_max=TEXT_CHARACTERS_MAX)
    exists = reader.boolean(entries.get("exists"), default=True)
    if not exists and (sha256 or contains):
        reader.fault(node, "what is absent has no content: remove sha256 and contains")
    return _Wanted(path=path, exists=exists, sha256=sha256, contains=contains)


def _findings(wanted: _Wanted, subject: Subject) -> Findings:
    """See docs/checks/outside.md. Looks at the world, so that it is not replayed."""
    if subject.outside is None or not subject.trusted_workspace:
        return Findings(passed=None, reason="outside the work nobody looks but in a user's own run")
    try:
        sight = subject.outside.look(wanted.path)
    except ValueError as error:
        return Findings(passed=None, reason=f"{wanted.path} {error}")
    if wanted.exists and sight.exists and (wanted.sha256 or wanted.contains) and sight.content is None:
        reason = f"{wanted.path} is no file of at most {CONTENT_BYTES_MAX} bytes and was not looked into"
        return Findings(passed=False, reason=reason)
    problems = _problems(wanted, sight)
    reason = "; ".join(problems) or f"{wanted.path} is as it should be"
    return Findings(passed=not problems, reason=reason, evidence=(wanted.path,))


def _problems(wanted: _Wanted, sight: Sight) -> list[str]:
    if sight.exists != wanted.exists:
        return [f"{wanted.path} is {'there' if sight.exists else 'missing'}"]
    text = (sight.content or b"").decode(errors="replace")
    problems = [f"{wanted.path} does not contain {part[:80]!r}" for part in wanted.contains if part not in text]
    return problems + ([f"{wanted.path} has another SHA-256"] if wanted.sha256 not in ("", sight.digest) else [])


CHECK = ConfiguredCheck(kind="outside", version=1, read=_read, measure=looking(_findings), reproducible=False)
