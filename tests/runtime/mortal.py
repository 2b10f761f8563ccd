"""A process that runs the command line in children, each of which may kill itself at its n-th boundary, or fail there.

Run as a script. A line of JSON on stdin is a `Life`; a line of JSON on stdout says how it ended. Children are forked,
so that hundreds of them cost no imports. Nothing of this can be reached from the package.
"""

import asyncio
import errno
import itertools
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.outside.llm import openai_compatible  # noqa: F401 - imported once, for all children
from earnest.foundation.errors import Broken
from earnest.runtime import hearing, minds_of_models, model_calls  # noqa: F401 - likewise
from earnest.surfaces.cli import live, main, task  # noqa: F401 - likewise

Owners = tuple[tuple[Any, tuple[str, ...]], ...]
DURABLE: Owners = ((Workspace, ("commit", "restore", "checkpoint", "finish", "stage")),)
MOVES: Owners = (Path, ("rename", "replace", "unlink", "rmdir")), (os, ("link",))


class Boundaries:
    """Counts what a crash could come between; at the `kill_at`-th it comes."""

    def __init__(self, kill_at: int, fault: str = "SIGKILL") -> None:
        self._kill_at = kill_at
        self._signal = getattr(signal, fault, None)
        self._errno = getattr(errno, fault, 0)
        self._numbers = itertools.count(1)
        self.passed = 0

    def watch(self) -> None:
        Database.put = self._around_put(Database.put)  # type: ignore[method-assign]
        for owner, names in DURABLE:
            for name in names:
                setattr(owner, name, self._around_async(getattr(owner, name)))
        for place, names in MOVES:
            for name in names:
                setattr(place, name, self._before(getattr(place, name)))

    def _cross(self) -> int:
        """The errno with which what follows shall fail, or 0."""
        self.passed = next(self._numbers)
        if self.passed != self._kill_at:
            return 0
        if self._signal is not None:
            os.kill(os.getpid(), self._signal)
        return int(self._errno)

    def _cross_or_fail(self) -> None:
        if number := self._cross():
            raise OSError(number, os.strerror(number))

    def _around_put(self, real: Callable[..., None]) -> Callable[..., None]:
        def watched(database: Database, fn: object, answer: asyncio.Future[Any], *ahead: object) -> None:
            if number := self._cross():  # as SQLite's own error would be told
                answer.set_exception(Broken(f"the database failed: {os.strerror(number)}"))
                return
            answer.add_done_callback(lambda _: self._cross())
            real(database, fn, answer, *ahead)

        return watched

    def _around_async(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def watched(*args: Any, **kwargs: Any) -> Any:
            self._cross_or_fail()
            result = await real(*args, **kwargs)
            self._cross()
            return result

        return watched

    def _before(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._cross_or_fail()
            return real(*args, **kwargs)

        return watched


def _live(arguments: list[str], home: str, kill_at: int, fault: str, output: Path) -> None:
    """The child: never returns."""
    os.setsid()  # nobody sits at a terminal
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores for what it puts in the background
    os.environ["EARNEST_HOME"] = home
    os.environ["TMPDIR"] = str(output.parent)
    tempfile.tempdir = None
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    boundaries = Boundaries(kill_at, fault)
    boundaries.watch()
    sys.argv = ["earnest", *arguments]
    code: object = 70
    try:
        main.main()
    except SystemExit as ending:
        code = ending.code
    sys.stdout.flush()
    output.with_suffix(".passed").write_text(str(boundaries.passed))
    os._exit(code if isinstance(code, int) else 71)


def _serve() -> None:
    for line in sys.stdin:
        life = json.loads(line)
        output = Path(life["output"])
        output.with_suffix(".passed").write_text("0")
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _live(life["arguments"], life["home"], life["kill_at"], life["fault"], output)
        if life["kill_after_ms"] >= 0:
            select.select([], [], [], life["kill_after_ms"] / 1000)  # a moment by the clock is what is meant
            os.kill(child, signal.SIGKILL)
        while life["kill_when"] and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if Path(life["kill_when"]).exists():
                os.kill(child, signal.SIGKILL)
                break
            select.select([], [], [], 0.01)  # a watch on the file would end with a child that is dead already
        _, status = os.waitpid(child, 0)
        ending = {
            "code": os.waitstatus_to_exitcode(status),
            "ms": int((time.monotonic() - began) * 1000),
            "passed": int(output.with_suffix(".passed").read_text()),
            "output": output.read_text(),
        }
        print(json.dumps(ending), flush=True)


if __name__ == "__main__":
    _serve()
