"""`earnest`, which kills itself between the commit of one request and its answer."""

import os
import signal
from typing import Any

from earnest.runtime.desk import Desk
from earnest.surfaces.cli.main import main

ROUTE = os.environ["KILLED_AFTER"]
committed = Desk._write


async def write_and_die(self: Desk, caller: Any, act: Any, keyed: Any, status: int, ahead: Any = ()) -> Any:
    answer = await committed(self, caller, act, keyed, status, ahead)
    if keyed is not None and keyed.route == ROUTE:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer


Desk._write = write_and_die  # type: ignore[method-assign]
main()
