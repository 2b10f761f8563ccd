"""What of the files here goes to a platform: a specification as a job, a folder as evidence. Clients send it."""

import io
import json
import mimetypes
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import Any, Final

from earnest.client.payloads import Requirement
from earnest.contracts.criterion import criterion_to_json
from earnest.contracts.spec import VerificationSpec, parse_spec
from earnest.effects.ground.text_file import located, read_text_file
from earnest.foundation.canonical import INTEGER_MAX
from earnest.foundation.errors import Diagnostic, Faulty, Refused

WHOLE: Final = "."
"""The path of an archive that holds everything."""
MICRO: Final = 1_000_000
UPLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
FILES_MAX: Final = 50
INLINE_BYTES_MAX: Final = 64 * 1024
OF_THE_WORK: Final = frozenset({"path"})
"""Keys of checks that name a file of the work, not one beside the specification."""
NO_ENVIRONMENT: Final = "a job cannot bring an environment: its checks have what the platform's settings give them"
ARCHIVE: Final = "application/x-tar"
PLAIN: Final = "application/octet-stream"


def micro_of(amount: str) -> int:
    """`2.50` in micro-units. Raises `Refused("validation")` for what is no amount."""
    try:
        micro = Decimal(amount) * MICRO
    except DecimalException:
        micro = Decimal("NaN")
    if not micro.is_finite():
        raise Refused("validation", f"{amount[:80]!r} is no amount: write it as 2.50") from None
    if not 0 <= micro <= INTEGER_MAX or micro != int(micro):
        raise Refused(
            "validation", f"{amount[:80]!r} is no amount: from 0 to {INTEGER_MAX // MICRO}, with at most six decimals"
        )
    return int(micro)


def amount_of(micro: int) -> str:
    """Micro-units as `2.50`."""
    whole, part = divmod(abs(micro), MICRO)
    decimals = f"{part:06d}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro < 0 else ''}{whole}.{decimals}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A job as `post_job` takes it, but for its files: those that its checks name, to be uploaded first."""

    body: dict[str, Any]
    files: Mapping[str, Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """One item of evidence as `submit_evidence` takes it; `content` is to be uploaded first, unless it is inline."""

    item: dict[str, Any]
    content: bytes | None


def job_of(path: Path, hand_in: Sequence[str]) -> Offered:
    """What a specification says of a job. Raises `Faulty`, `Refused`."""
    return offered(parse_spec(path.read_bytes(), str(path)), path.absolute().parent, hand_in)


def offered(spec: VerificationSpec, base: Path, hand_in: Sequence[str]) -> Offered:
    """A specification as a job; what its checks name lies below `base`. Raises `Refused("too_large")`, `Faulty`."""
    if spec.environment is not None:
        raise Faulty([Diagnostic(source=spec.environment.source, line=0, message=NO_ENVIRONMENT)])
    base = base.resolve()
    criteria = [criterion_to_json(one) for one in spec.criteria]
    named = sorted({found for one in criteria for found in _named(one.get("check"), base)})
    if len(named) > FILES_MAX:
        raise Refused("too_large", f"the checks name {len(named)} files; a job has at most {FILES_MAX}")
    body = {
        "title": spec.title,
        "text": spec.text,
        "acceptance": spec.acceptance.value,
        "criteria": criteria,
        "evidence_requirements": [_requirement(number, one) for number, one in enumerate(hand_in or [WHOLE], 1)],
    }
    return Offered(body=body, files={one.relative_to(base).as_posix(): one for one in named})


def evidence_of(requirements: Sequence[Requirement], work: Path) -> list[Handed]:
    """Everything that is asked for, from a folder or an archive.

    Raises `Refused`: `evidence_incomplete`, `too_large`, `workspace_link` for what leads out of the folder.
    """
    items, lacking = [], []
    for wanted in requirements:
        path = located(work / wanted["path"], work) if wanted["path"] != WHOLE else work.resolve()
        if path.exists():
            items.append(_item(wanted, path, work))
        elif wanted["required"]:
            lacking.append(wanted["path"])
    if lacking:
        raise Refused("evidence_incomplete", f"not in {work}: {', '.join(lacking)}")
    return items


def _named(value: object, base: Path) -> Iterator[Path]:
    """The files beside the specification that a check names, anywhere in its config."""
    match value:
        case str() if value and len(value) <= 512 and "\0" not in value:
            found = (base / value).resolve()
            if found != base and found.is_relative_to(base):
                yield from ([found] if found.is_file() else (real for _, real in _files(found, base)))
        case Mapping():
            for key, each in value.items():
                if key not in OF_THE_WORK:
                    yield from _named(each, base)
        case list() | tuple():
            for each in value:
                yield from _named(each, base)


def _requirement(number: int, path: str) -> dict[str, Any]:
    if path == WHOLE:
        return {"id": "work", "kind": "artifact", "path": WHOLE, "description": "A tar or zip archive of everything."}
    return {"id": f"file-{number}", "kind": "artifact", "path": path}


def _item(wanted: Requirement, path: Path, work: Path) -> Handed:
    content = _archive(path, work) if path.is_dir() else read_file(path, wanted["max_bytes"])
    media_type = ARCHIVE if path.is_dir() else mimetypes.guess_type(path.name)[0] or PLAIN
    item: dict[str, Any] = {"requirement_id": wanted["id"], "kind": wanted["kind"], "media_type": media_type}
    if wanted["kind"] == "json" and len(content) <= INLINE_BYTES_MAX:
        return Handed(item={**item, "inline": _json(path, content)}, content=None)
    return Handed(item=item, content=content)


def _json(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise Refused("validation", f"{path} is no JSON: {error}") from None


def _files(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """The regular files below a folder, in order, by name, and where each is: no link leads out of `root`."""
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        yield path.relative_to(folder).as_posix(), located(path, root)


def _archive(folder: Path, root: Path) -> bytes:
    """A tar of all regular files, in order, without their owners and times: the same folder gives the same bytes."""
    total, buffer = 0, io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, path in _files(folder, root):
            content = read_file(path)
            total += len(content)
            if total > UPLOAD_BYTES_MAX:
                raise Refused("too_large", f"{folder} holds more than {UPLOAD_BYTES_MAX} bytes")
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def read_file(path: Path, bytes_max: int = UPLOAD_BYTES_MAX) -> bytes:
    """The bytes of a regular file. Raises `Refused("too_large")`."""
    content = read_text_file(path, bytes_max)
    if len(content) > bytes_max:
        raise Refused("too_large", f"{path} has more than {bytes_max} bytes")
    return content
