"""Functions that wait for the file system, called from an event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(function: Callable[..., Result], *arguments: object) -> Result:
    """Call it in a thread. Whoever is cancelled meanwhile waits for its end: it writes where is to be tidied up."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
