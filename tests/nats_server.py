"""A server of NATS for the tests: from its wheel, as `deploy/nats.conf` says, on a port and in a folder of its own."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runtime.processes import eventually

CONFIGURATION: Final = Path(__file__).parent.parent / "deploy" / "nats.conf"


def program() -> str:
    """The one beside this Python, or the machine's."""
    found = shutil.which("nats-server", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found is not None, "there is no nats-server: `make test` installs one"
    return found


class NatsServer:
    """A server that can be killed, and started again on what it kept."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.kept = folder / "kept"
        text = CONFIGURATION.read_text()
        for there, here in (("127.0.0.1:4222", f"127.0.0.1:{self.port}"), ("/var/lib/earnest-nats", str(self.kept))):
            assert there in text
            text = text.replace(there, here)
        self._file = folder / "nats.conf"
        self._file.write_text(text)
        self._log = folder / "nats.log"
        self.start()

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    def address(self, user: str, port: int = 0) -> str:
        """For `engine` or `auditor`; `port` of what stands before it."""
        return f"nats://{user}:of-{user}@127.0.0.1:{port or self.port}"

    def start(self) -> None:
        """Return when it listens."""
        given = {"EARNEST_BUS_ENGINE": "of-engine", "EARNEST_BUS_AUDITOR": "of-auditor"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([program(), "-c", self._file], env={**os.environ, **given}, stderr=log)
        assert eventually(lambda: self.process.poll() is not None or self._listens()), self.log
        assert self.process.poll() is None, self.log

    def _listens(self) -> bool:
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """As the kernel does for want of memory."""
        self.process.kill()
        self.process.wait()


@contextmanager
def nats_server(folder: Path) -> Iterator[NatsServer]:
    """It ends with the block."""
    server = NatsServer(folder)
    try:
        yield server
    finally:
        server.kill()


class Wire:
    """What stands between a client and a server, and can be cut: nothing passes, and nobody is told."""

    def __init__(self, target: int | Path) -> None:
        """`target`: a port, or the path of a socket."""
        self._target = target
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()
        self._whole = asyncio.Event()
        self._whole.set()

    async def open(self) -> int:
        """The port to come in by."""
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        """What is sent from now on stays where it is."""
        self._whole.clear()

    def mend(self) -> None:
        """It goes on."""
        self._whole.set()

    async def reset(self) -> None:
        """End all connections: both sides are told."""
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        self._pumps.clear()

    async def close(self) -> None:
        """End everything."""
        await self.reset()
        assert self._server is not None
        self._server.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._whole.wait()
        try:
            if isinstance(self._target, Path):
                there, back = await asyncio.open_unix_connection(self._target)
            else:
                there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # nobody is there now
            writer.close()
            return
        for one, other in ((reader, back), (there, writer)):
            pump = asyncio.get_running_loop().create_task(self._pump(one, other))
            self._pumps.add(pump)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
