"""A server on loopback that stands for the public internet: what the rules see are public addresses."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from earnest.effects.ground.clock import SystemClock
from earnest.effects.outside.web.fetching import Web

PUBLIC = "93.184.216.34"
Answer = Callable[[str, socket.socket], None]
"""Request line and connection."""


class InTheClear(ssl.SSLContext):
    """Trusts everybody and hides nothing."""

    def wrap_socket(self, sock: socket.socket, *_: Any, **__: Any) -> Any:
        return sock


@dataclass(slots=True)
class Internet:
    """Names, what they resolve to each time they are asked, and what was dialled."""

    port: int
    names: dict[str, list[list[str]]] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def web(self, *, tls: bool = True) -> Web:
        """Without `tls`, https is spoken in the clear."""
        trust = None if tls else InTheClear(ssl.PROTOCOL_TLS_CLIENT)
        return Web(SystemClock(), resolve=self._resolve, dial=self._dial, trust=trust)

    def _resolve(self, host: str, port: int) -> list[str]:
        answers = self.names.get(host, [[PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _dial(self, address: str, port: int, seconds: float) -> socket.socket:
        self.dialled.append((address, port))
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)


@contextlib.contextmanager
def internet(answer: Answer) -> Iterator[Internet]:
    """Every connection is answered by `answer` in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    known = Internet(port=listener.getsockname()[1])
    threads: list[threading.Thread] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                thread = threading.Thread(target=handle, args=(connection,), daemon=True)
                thread.start()
                threads.append(thread)

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                if not (part := connection.recv(65536)):
                    return
                head += part
            known.requests.append(head.decode())
            answer(head.decode().split("\r\n")[0], connection)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        yield known
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        server.join()
        for thread in threads:
            thread.join()


def reply(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """One whole answer."""
    head = {"Content-Length": str(len(body)), "Content-Type": "text/html; charset=utf-8"}
    head |= {name.replace("_", "-"): value for name, value in headers.items()}
    return (
        f"HTTP/1.1 {status}\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in head.items()) + b"\r\n" + body
    )
