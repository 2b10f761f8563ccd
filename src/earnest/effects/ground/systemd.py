"""What systemd is told of a service: that it is ready, takes its settings anew, or stops (sd_notify(3))."""

import os
import socket
from contextlib import suppress
from typing import Final

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
VARIABLE: Final = "NOTIFY_SOCKET"


def reloading(ticks_ns: int) -> str:
    """That the settings are taken anew, since this tick of the machine's clock."""
    return f"RELOADING=1\nMONOTONIC_USEC={ticks_ns // 1_000}"


def notify(state: str) -> None:
    """Tell the manager that started us, if one did. One that cannot be told is none of our service's concern."""
    path = os.environ.get(VARIABLE, "")
    if path.startswith(("/", "@")):
        address = "\0" + path[1:] if path.startswith("@") else path
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
            manager.sendto(state.encode(), address)
