"""What must not stop halfway: work that a cancelled caller still waits for."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

_Result = TypeVar("_Result")


class Ending(asyncio.Future[_Result]):
    """A result that a cancelled caller still waits for, without a task of its own.

    `asyncio.Task.cancel` first asks the future that the task awaits. As this one declines, the task is cancelled when
    it goes on, and hears of that, whatever the result was.
    """

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002 - named by asyncio
        """Decline."""
        return False


async def to_the_end(work: Coroutine[None, None, _Result]) -> _Result:
    """Await it even if we are cancelled meanwhile, however often; the cancellation goes on afterwards."""
    task = asyncio.get_running_loop().create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    result = task.result()
    if cancelled:
        raise asyncio.CancelledError
    return result
