"""The files that pages load: our own, and those of others that are kept here (`vendored.json` says which)."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from earnest.foundation.errors import Refused

FOLDERS: Final = ("assets", "vendored")
TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
YEAR_S: Final = 31_536_000
NAME_CHARACTERS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What is sent: as it is, and compressed."""

    media_type: str
    plain: bytes
    packed: bytes
    digest: str


@cache
def known_files() -> dict[str, File]:
    """Every file that may be asked for, by its name."""
    found = {}
    for folder in FOLDERS:
        for path in files("earnest.surfaces.dashboard").joinpath(folder).iterdir():
            suffix = path.name[path.name.rfind(".") :]
            if suffix in TYPES:
                plain = path.read_bytes()
                found[path.name] = File(
                    media_type=TYPES[suffix],
                    plain=plain,
                    packed=gzip.compress(plain, mtime=0),
                    digest=hashlib.sha256(plain).hexdigest(),
                )
    return found


def address(name: str) -> str:
    """Where a page finds a file; another content has another address, so it may be kept for good."""
    return f"/assets/{known_files()[name].digest[:NAME_CHARACTERS]}/{name}"


async def send_file(request: Request) -> Response:
    """One file. Raises `Refused("not_found")`."""
    found = known_files().get(request.path_params["name"])
    if found is None:
        raise Refused("not_found", "there is no such file")
    headers = {"Cache-Control": f"public, max-age={YEAR_S}, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, 200, {**headers, "Content-Encoding": "gzip"}, found.media_type)
    return Response(found.plain, 200, headers, found.media_type)
