"""The MCP servers that the operator named in `mcp.json` of the data directory, and that file's faults."""

import json
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from earnest.effects.ground.faults import why
from earnest.effects.hands.mcp.api import PREFIX, ServerSpec, is_name
from earnest.effects.hands.tools.api import Tool, ToolSource
from earnest.foundation.errors import Diagnostic, Unavailable

FILE_NAME: Final = "mcp.json"
FILE_BYTES_MAX: Final = 256 * 1024
SERVERS_MAX: Final = 16
SERVER_CHARACTERS_MAX: Final = 32
TEXTS_MAX: Final = 64
TEXT_CHARACTERS_MAX: Final = 4_096
KINDS: Final = {"stdio": "command", "http": "url", "streamable-http": "url"}
"""What `type` may say, and the key that goes with it."""
KEYS: Final = frozenset({"command", "args", "env", "url", "headers", "trusted", "type"})
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}", re.ASCII)


def read_servers(home: Path, environment: Mapping[str, str], faults: list[Diagnostic]) -> tuple[ServerSpec, ...]:
    """The servers of the file in the form that other programs use; none without a file. What is wrong goes to `faults`.

    `${NAME}` in `args`, `env`, `headers` and `url` stands for that variable of our environment.
    """
    path = home / FILE_NAME

    def fault(message: str) -> None:
        faults.append(Diagnostic(source=str(path), line=0, message=message))

    try:
        content = _content(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        fault(why(error))
        return ()
    except (ValueError, RecursionError) as error:
        fault(f"not JSON: {error}")
        return ()
    servers = content.get("mcpServers") if isinstance(content, dict) and len(content) == 1 else None
    if not isinstance(servers, dict) or len(servers) > SERVERS_MAX:
        fault(f'must be {{"mcpServers": {{NAME: …}}}} with at most {SERVERS_MAX} servers')
        return ()
    read = [_Entry(name, value, environment, fault).server() for name, value in servers.items()]
    if len({name.lower() for name in servers}) < len(servers):
        fault("two servers have names that differ in capitals only")
    return tuple(server for server in read if server)


def sources_of(servers: tuple[ServerSpec, ...]) -> Mapping[str, ToolSource]:
    """What brings their tools, by the beginning of the names. Nothing is started."""
    return {f"{PREFIX}{server.name}/": _Source(server) for server in servers}


def described(servers: tuple[ServerSpec, ...]) -> str:
    """The servers in one line, without what may be secret."""
    return ", ".join(
        f"{server.name} ({Path(server.command).name if server.command else urlsplit(server.url).hostname}"
        f"{', trusted' if server.trusted else ''})"
        for server in servers
    )


class _Source:
    """A server's tools; the library, an extra that takes a second to load, comes with the first that asks for them."""

    def __init__(self, server: ServerSpec) -> None:
        self._server = server
        self._source: ToolSource | None = None

    async def tools(self) -> tuple[Tool, ...]:
        """See `ToolSource`."""
        if find_spec("mcp") is None:
            raise Unavailable("what speaks to MCP servers is not installed: install 'earnest[mcp]'")
        from earnest.effects.hands.mcp.server import McpServer  # noqa: PLC0415
        from earnest.effects.hands.mcp.tools import McpTools  # noqa: PLC0415

        self._source = self._source or McpTools(McpServer(self._server))
        return await self._source.tools()

    async def close(self) -> None:
        """See `ToolSource`."""
        if self._source is not None:
            await self._source.close()


class _Entry:
    """One server of the file, and where its faults go."""

    def __init__(self, name: str, value: object, environment: Mapping[str, str], fault: Callable[[str], None]) -> None:
        self._name = name
        self._value = value
        self._environment = environment
        self._note = fault
        self._is_good = True

    def server(self) -> ServerSpec | None:
        """The server, if nothing is wrong."""
        if not is_name(self._name) or len(self._name) > SERVER_CHARACTERS_MAX:
            self._fault(f"a name is 1 to {SERVER_CHARACTERS_MAX} of letters, digits, `_`, `-` and `.`")
        if not isinstance(self._value, dict):
            self._fault("must be an object")
            return None
        given: dict[str, Any] = self._value
        if unknown := sorted(given.keys() - KEYS):
            self._fault(f"has unknown keys: {', '.join(unknown)}")
        if not isinstance(given.get("trusted", False), bool):
            self._fault("trusted must be true or false")
        kind = given.get("type")
        if ("command" in given) == ("url" in given) or (kind is not None and KINDS.get(str(kind)) not in given):
            self._fault("needs either command or url, and a type that goes with it: stdio or http")
        if given.keys() & ({"headers"} if "command" in given else {"args", "env"}):
            self._fault("has args and env with command, headers with url")
        server = ServerSpec(
            name=self._name,
            command=self._text(given.get("command", ""), "command"),
            args=self._texts(given.get("args", [])),
            env=self._named(given.get("env", {}), "env"),
            url=self._url(given.get("url", "")),
            headers=self._named(given.get("headers", {}), "headers"),
            trusted=given.get("trusted") is True,
        )
        if self._is_good and not (server.command or server.url):
            self._fault("command and url must say something")
        return server if self._is_good else None

    def _fault(self, message: str) -> None:
        self._is_good = False
        self._note(f"server {self._name[:SERVER_CHARACTERS_MAX]!r} {message}")

    def _text(self, value: object, what: str) -> str:
        if not isinstance(value, str) or len(value) > TEXT_CHARACTERS_MAX or not (value or what).isprintable():
            self._fault(f"{what} must be a text of one line, at most {TEXT_CHARACTERS_MAX} characters")
            return ""
        for variable in _VARIABLE.findall(value):
            if variable not in self._environment:
                self._fault(f"{what} needs the environment variable {variable}")
        return _VARIABLE.sub(lambda found: self._environment.get(found[1], ""), value)

    def _texts(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > TEXTS_MAX:
            self._fault(f"args must be a list of at most {TEXTS_MAX} texts")
            return ()
        return tuple(self._text(each, "args") for each in value)

    def _named(self, value: object, what: str) -> dict[str, str]:
        if not isinstance(value, dict) or len(value) > TEXTS_MAX:
            self._fault(f"{what} must be an object of at most {TEXTS_MAX} texts")
            return {}
        return {name: self._text(each, what) for name, each in value.items()}

    def _url(self, value: object) -> str:
        url = self._text(value, "url")
        try:
            parts = urlsplit(url)
            good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
            good = good and "@" not in parts.netloc
        except ValueError:
            good = False
        if url and not good:
            self._fault("url must be http(s)://HOST[:PORT]/PATH without a user's name")
        return url


def _content(path: Path) -> object:
    with path.open("rb") as file:
        text: bytes = file.read(FILE_BYTES_MAX + 1)
    if len(text) > FILE_BYTES_MAX:
        raise ValueError(f"larger than {FILE_BYTES_MAX} bytes")
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found
