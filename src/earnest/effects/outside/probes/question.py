"""The question to a measuring process, and its word that the world cannot be asked."""

from dataclasses import dataclass

from earnest.foundation.canonical import JsonObject


class Unknown(Exception):
    """Why it is unknown what would have been measured: never zero, and never a failure of anybody's work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeQuestion:
    """`config` is that of the probe, already checked; `secret` a password or token, or empty."""

    config: JsonObject
    secret: str
    now_ms: int
    wall_s: int

    def text(self, key: str, default: str = "") -> str:
        """A text of the config."""
        return str(self.config.get(key, default))
