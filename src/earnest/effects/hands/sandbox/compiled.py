"""Our own modules as code objects in marshal form, taken from the interpreter's cache where that is fresh."""

import functools
import importlib.util
import marshal
import struct
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Final

HEADER_BYTES: Final = 16


@functools.cache
def code_of(name: str) -> bytes:
    """The code of a module of this folder."""
    return marshalled(name, Path(__file__).with_name(f"{name}.py"))


def marshalled(name: str, path: Path) -> bytes:
    """The code of the module `name`. As Python itself does, a cache is fresh if it names the source's time and size."""
    cached = Path(importlib.util.cache_from_source(str(path)))
    try:
        data = cached.read_bytes()
        status = path.stat()
    except OSError:
        data = b""
    else:
        stamp = struct.pack("<II", int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
        if data[:HEADER_BYTES] == importlib.util.MAGIC_NUMBER + bytes(4) + stamp:
            return data[HEADER_BYTES:]
    return marshal.dumps(SourceFileLoader(name, str(path)).get_code(name))
